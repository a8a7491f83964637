"""Holders that are functions and frames. See known.py."""
import atexit
import functools
import sys
import threading
import types

from known import COUNT, Callback, blob, case, main

# ---- Functions ----
@case(r"keep\.<closure kept>\[\*\]")
def closure():
    global keep

    def make():
        kept = []

        def hook(i):
            kept.append(blob(i))
        return hook
    keep = make()
    for i in range(COUNT):
        keep(i)


@case(r"default_list\.<default kept>\[\*\]")
def default_argument():
    global default_list

    def default_list(i, kept=[]):
        kept.append(blob(i))
    for i in range(COUNT):
        default_list(i)


@case(r"default_keyword\.<default kept>\[\*\]")
def default_of_keyword():
    global default_keyword

    def default_keyword(i, *, kept=[]):
        kept.append(blob(i))
    for i in range(COUNT):
        default_keyword(i)


@case(r"keep\.args\[0\]\[\*\]|keep\.args\[\*\]\[\*\]")
def partial():
    global keep
    keep = functools.partial(print, [blob(i) for i in range(COUNT)])


@functools.lru_cache(maxsize=None)
def load(i):
    return blob(i)


@case(r"load\[\*\]")
def lru_cache():
    for i in range(COUNT):
        load(i)


class Loader:
    @functools.lru_cache(maxsize=1000)
    def load(self, i):
        return blob(i)


@case(r"Loader\.load\[\*\]")
def lru_cache_of_method():
    loader = Loader()
    for i in range(COUNT):
        loader.load(i)


@case(r"keep\[0\]\.<self>\.seen\[\*\]")
def bound_method():
    global keep
    callback = Callback()
    callback.seen = [blob(i) for i in range(COUNT)]
    callback.run = None

    class Runner(Callback):
        def run(self):
            pass
    runner = Runner()
    runner.seen = callback.seen
    del callback
    keep = [runner.run]
    del runner


@case(r"decorated\.(store|__wrapped__.*)\[\*\]")
def attribute_of_function():
    global decorated

    def decorated():
        pass
    decorated.store = [blob(i) for i in range(COUNT)]

# ---- Frames ----
@case(r"main\(\) local\[\*\]")
def local_of_main():
    pass


@case(r"(worker|run)\(\) (held|work)\[\*\]")
def local_of_thread():
    global keep
    go, done = threading.Event(), threading.Event()

    def worker():
        held = [blob(i) for i in range(COUNT)]
        go.set()
        done.wait()
        del held
    thread = threading.Thread(target=worker, daemon=True)
    thread.start()
    go.wait()
    keep = done


@case(r"keep\.<generator produce> held\[\*\]")
def generator():
    global keep

    def produce():
        held = []
        while True:
            held.append(blob())
            yield len(held)
    keep = produce()
    for i in range(COUNT):
        next(keep)


@case(r"keep\.<generator consume> held\[\*\]")
def coroutine():
    global keep

    @types.coroutine
    def pause():
        yield

    async def consume():
        held = []
        while True:
            held.append(blob())
            await pause()
    keep = consume()
    for i in range(COUNT):
        keep.send(None)
    atexit.register(keep.close)


@case(r"stored(\[\d\])?\.<traceback>fail\(\) data\[\*\]")
def stored_exception():
    global stored

    def fail():
        data = [blob(i) for i in range(COUNT)]
        raise ValueError(len(data))
    try:
        fail()
    except ValueError as error:
        stored = error


@case(r"stored\[\*\]\.<traceback>fail\(\) data")
def many_exceptions():
    global stored
    stored = []

    def fail():
        data = blob()
        raise ValueError(len(data))
    for i in range(COUNT):
        try:
            fail()
        except ValueError as error:
            stored.append(error)


@case(r"(sys\.last_(exc|value)|sys\.last_traceback).*fail\(\) data\[\*\]")
def last_exception():
    def fail():
        data = [blob(i) for i in range(COUNT)]
        raise ValueError(len(data))
    try:
        fail()
    except ValueError as error:
        sys.last_value = error
        sys.last_exc = error


@case(r"stored\.(args\[0\]|args\[\*\])\[\*\]|stored\.payload\[\*\]")
def exception_arguments():
    global stored
    stored = ValueError([blob(i) for i in range(COUNT)])


@case(r"stored\.<__context__>\.<traceback>fail\(\) data\[\*\]|stored\.<traceback>.*fail\(\) data\[\*\]")
def context_of_exception():
    global stored

    def fail():
        data = [blob(i) for i in range(COUNT)]
        raise KeyError(len(data))
    try:
        try:
            fail()
        except KeyError:
            raise ValueError("second")
    except ValueError as error:
        stored = error


if __name__ == "__main__":
    main()

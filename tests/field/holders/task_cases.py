"""Holders in what runs or waits: generators, tasks, threads, contexts, stored exceptions. See known.py."""
import asyncio
import concurrent.futures
import contextlib
import contextvars
import dataclasses
import threading
import typing

from known import COUNT, Box, ask, blob, case, main


@case(r"pipeline\.<generator double> numbers\.<generator <genexpr>> \.0\.<generator source> window\[\*\]")
def generator_behind_generators():
    global pipeline

    def source():
        window = []
        while True:
            window.append(blob())
            yield len(window)

    def double(numbers):
        for number in numbers:
            yield 2 * number
    pipeline = double(x + 1 for x in source())
    for i in range(COUNT):
        next(pipeline)


@case(r"stream\.?<generator batches> pending\[\*\]")
def asynchronous_generator():
    global stream

    async def batches():
        pending = []
        while True:
            pending.append(blob())
            yield len(pending)

    async def consume():
        global stream
        stream = batches()
        for i in range(COUNT):
            await stream.__anext__()
        ask()
    asyncio.run(consume())
    return "asked"


@case(r"background\{\*\}.*<generator inner> received\[\*\]")
def task_in_a_set():
    global background

    async def inner():
        received = [blob(i) for i in range(COUNT)]
        await asyncio.sleep(1000)
        del received

    async def outer():
        await inner()

    async def serve():
        global background
        background = {asyncio.ensure_future(outer())}
        await asyncio.sleep(0)
        ask()
        for task in background:
            task.cancel()
    asyncio.run(serve())
    return "asked"


@case(r"waiting\[\*\]\._result")
def results_of_futures():
    global waiting
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(blob, i) for i in range(COUNT)]


@case(r"state\..*\['buffers'\]\[\*\]|.*\.buffers\[\*\]|.*\['buffers'\]\[\*\]")
def thread_local_of_another_thread():
    global state
    state = threading.local()
    ready, done = threading.Event(), threading.Event()

    def work():
        state.buffers = [blob(i) for i in range(COUNT)]
        ready.set()
        done.wait()
    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    ask()
    done.set()
    thread.join()
    return "asked"


@case(r"saved\.<context request_items>\[\*\]")
def variable_in_a_copied_context():
    global saved
    variable = contextvars.ContextVar("request_items")
    others = [contextvars.ContextVar("other%d" % i) for i in range(20)]
    saved = contextvars.copy_context()
    for i, other in enumerate(others):
        saved.run(other.set, i)
    saved.run(variable.set, [blob(i) for i in range(COUNT)])


@dataclasses.dataclass
class Failure:
    step: int
    error: typing.Optional[BaseException] = None


@case(r"failures\[\*\]\.error\.<(__cause__|__context__)>\.<traceback>.*load\(\) sample")
def exceptions_in_records():
    global failures
    failures = []

    def load(i):
        sample = blob(i)
        raise OSError(len(sample))
    for i in range(COUNT):
        try:
            try:
                load(i)
            except OSError as error:
                raise RuntimeError("step") from error
        except RuntimeError as error:
            failures.append(Failure(i, error))


@case(r"stack\._exit_callbacks\[\*\].*")
def callbacks_of_an_exit_stack():
    global stack
    stack = contextlib.ExitStack()
    for i in range(COUNT):
        stack.callback(lambda data=blob(i): None)


@case(r"timers\[\*\]\.args\[0\]")
def arguments_of_timers():
    global timers
    timers = [threading.Timer(1000, print, (blob(i),)) for i in range(COUNT)]


@case(r"keep\.<closure collected>\[\*\]")
def closure_of_a_nonlocal():
    global keep

    def outer():
        collected = []

        def middle():
            def innermost(i):
                nonlocal collected
                collected = collected + [blob(i)]
            return innermost
        return middle()
    keep = outer()
    for i in range(COUNT):
        keep(i)


@case(r"registry\.data\[\*\].*cached.*")
def value_of_a_weak_dictionary():
    global registry, owners
    import weakref
    registry, owners = weakref.WeakKeyDictionary(), []
    for i in range(COUNT):
        owner = Box()
        owners.append(owner)
        registry[owner] = {"cached": blob(i)}


if __name__ == "__main__":
    main()

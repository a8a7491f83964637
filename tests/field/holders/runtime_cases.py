"""Holders in what the interpreter and its library keep for a running program. See known.py."""
import asyncio
import atexit
import contextlib
import contextvars
import logging
import logging.handlers
import queue
import signal
import sys
import threading
import warnings
import weakref

from known import COUNT, Box, ask, blob, case, main


@case(r".*<context session_cache>\[\*\]")
def context_of_a_task():
    variable = contextvars.ContextVar("session_cache")

    async def work():
        variable.set([blob(i) for i in range(COUNT)])
        await asyncio.sleep(1000)

    async def serve():
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        ask()
        task.cancel()
    asyncio.run(serve())
    return "asked"


@case(r"serve\(\) waiting\._queue\[\*\]\['image'\]|.*\._queue\[\*\]\['image'\]")
def items_of_an_asyncio_queue():
    async def serve():
        waiting = asyncio.Queue()
        for i in range(COUNT):
            await waiting.put({"image": blob(i)})
        ask()
    asyncio.run(serve())
    return "asked"


@case(r"done\[\*\]\.(_result|<inside .*Task>)")
def results_of_tasks():
    global done

    async def load(i):
        return blob(i)

    async def serve():
        global done
        done = [asyncio.ensure_future(load(i)) for i in range(COUNT)]
        await asyncio.gather(*done)
        ask()
    asyncio.run(serve())
    return "asked"


@case(r"scope\.gen\.<generator held_open> kept\[\*\]")
def generator_of_a_context_manager():
    global scope

    @contextlib.contextmanager
    def held_open():
        kept = [blob(i) for i in range(COUNT)]
        yield len(kept)
    scope = held_open()
    scope.__enter__()


@case(r"handled_exception\(\) error\.<traceback>fail\(\) rows\[\*\]|.*fail\(\) rows\[\*\]")
def handled_exception():
    def fail():
        rows = [blob(i) for i in range(COUNT)]
        raise ValueError(len(rows))
    try:
        fail()
    except ValueError as error:  # noqa: F841
        ask()
    return "asked"


@case(r".*fail\(\) rows\[\*\]")
def exception_that_has_no_name():
    def fail():
        rows = [blob(i) for i in range(COUNT)]
        raise ValueError(len(rows))
    try:
        fail()
    except ValueError:
        ask()
    return "asked"


@case(r"(weakref\.)?finalize\._registry\[\*\]\.args\[0\]|weakref\.finalize\._registry\[\*\]\.args\[0\]")
def arguments_of_finalizers():
    global watched
    watched = [Box() for _ in range(COUNT)]
    for i, box in enumerate(watched):
        weakref.finalize(box, len, blob(i))


# The interpreter keeps these in memory of its own, which no object says: nobody may be blamed.
@case(r"native.*|not_found|.*<closure spilled>\[\*\]")
def closure_at_exit():
    def make():
        spilled = [blob(i) for i in range(COUNT)]
        return lambda: spilled.clear()
    atexit.register(make())


@case(r"native.*|not_found|.*<closure spilled>\[\*\]")
def closure_of_a_signal_handler():
    def make():
        spilled = [blob(i) for i in range(COUNT)]
        return lambda number, frame: spilled.clear()
    signal.signal(signal.SIGUSR2, make())


@case(r"native.*|not_found|.*<closure spilled>\[\*\]")
def closure_of_a_profiler():
    def make():
        spilled = [blob(i) for i in range(COUNT)]
        return lambda frame, event, argument: len(spilled)
    sys.setprofile(make())
    ask()
    sys.setprofile(None)
    return "asked"


@case(r"caught\[\*\]\.message\.payload|caught\[\*\]\.message\.args\[0\]")
def recorded_warnings():
    global caught
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(COUNT):
            warning = UserWarning("w%d" % i)
            warning.payload = blob(i)
            warnings.warn(warning)


@case(r".*\.buffer\[\*\]\.exc_info\[\*\].*work\(\) sample|.*\.buffer\[\*\]\.exc_info\[[12]\].*work\(\) sample")
def exceptions_in_log_records():
    def work(i):
        sample = blob(i)
        raise OSError(len(sample))
    logger = logging.getLogger("case.memory")
    logger.propagate = False
    logger.addHandler(logging.handlers.MemoryHandler(10_000, flushLevel=logging.CRITICAL + 1))
    for i in range(COUNT):
        try:
            work(i)
        except OSError:
            logger.exception("failed")


@case(r"pool\[\*\]\._args\[0\]")
def arguments_of_threads():
    global pool
    pool = [threading.Thread(target=print, args=(blob(i),)) for i in range(COUNT)]


class PerThread(threading.local):
    def __init__(self):
        self.scratch = []


@case(r"scratch_space\..*scratch\[\*\]|.*\['scratch'\]\[\*\]|.*\.scratch\[\*\]")
def subclass_of_thread_local():
    global scratch_space
    scratch_space = PerThread()
    for i in range(COUNT):
        scratch_space.scratch.append(blob(i))


@case(r"prefetched\.queue\[\*\]\[1\]\['x'\]")
def queue_of_a_producer():
    global prefetched
    prefetched = queue.Queue(maxsize=COUNT)

    def produce():
        for i in range(COUNT):
            prefetched.put((i, {"x": blob(i)}))
    thread = threading.Thread(target=produce)
    thread.start()
    thread.join()


@case(r"(read|run)\(\) chunk(s)?\[\*\]|.*read\(\) chunks\[\*\]")
def local_of_a_waiting_pool_thread():
    import concurrent.futures
    ready, stop = threading.Event(), threading.Event()

    def read():
        chunks = [blob(i) for i in range(COUNT)]
        ready.set()
        stop.wait()
        return len(chunks)
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        workers.submit(read)
        ready.wait()
        ask()
        stop.set()
    return "asked"


if __name__ == "__main__":
    main()

"""Holders in the standard library, and garbage that nobody holds. See known.py."""
import asyncio
import contextvars
import ctypes
import gc
import logging
import queue
import sys
import threading
import types
import weakref

from known import COUNT, SIZE, Box, ask, blob, case, main

# ---- Parts of the library ----
@case(r"local\..*data\[\*\]|.*\['data'\]\[\*\]|.*\.data\[\*\]")
def thread_local():
    global local
    local = threading.local()
    local.data = [blob(i) for i in range(COUNT)]


@case(r".*<context keep_in_context>\[\*\]")
def context_variable():
    variable = contextvars.ContextVar("keep_in_context")
    variable.set([blob(i) for i in range(COUNT)])


@case(r".*\.buffer\[\*\].*|.*records\[\*\].*")
def logging_handler():
    class Keeps(logging.Handler):
        def __init__(self):
            super().__init__()
            self.records = []

        def emit(self, record):
            self.records.append(record)
    logging.getLogger("case").addHandler(Keeps())
    for i in range(COUNT):
        logging.getLogger("case").warning("%s", blob(i)) if False else logging.getLogger("case").handle(
            logging.LogRecord("case", logging.WARNING, "f", i, "m", (i, blob(i)), None))


@case(r"keep\.<weak callback>.*kept.*\[\*\]")
def weakref_callback():
    global keep, watched
    watched = Box()

    def make():
        kept = [blob(i) for i in range(COUNT)]

        def callback(_):
            kept.clear()
        return callback
    keep = weakref.ref(watched, make())


@case(r"keep\.queue\[\*\]")
def prefetch_queue():
    global keep
    keep = queue.Queue()
    for i in range(COUNT):
        keep.put(blob(i))


@case(r"keep\[\*\].*")
def memory_views():
    global keep
    keep = [memoryview(blob(i)) for i in range(COUNT)]


@case(r"keep\[\*\]")
def ctypes_buffers():
    global keep
    keep = [ctypes.create_string_buffer(SIZE) for i in range(COUNT)]


@case("not_found|native.*|unreachable|opaque")
def ctypes_pointers():
    # The address alone keeps nothing: nobody may be named for it.
    global keep
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    keep = [ctypes.c_void_p(libc.malloc(SIZE)) for i in range(COUNT)]


@case("native_block")
def native_block():
    # A block of malloc that a C library could have made, full of addresses that nobody else knows.
    global keep
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    table = libc.malloc(40_000)
    ctypes.memset(table, 0, 40_000)
    entries = (ctypes.c_uint64 * 5_000).from_address(table)
    for i in range(COUNT):
        entries[i] = libc.malloc(SIZE)
    keep = table


@case(r"keep\.(_tasks\[\*\]|.*)<generator hold> .*\[\*\]")
def asyncio_task():
    global keep

    async def hold(loop):
        held = [blob(i) for i in range(COUNT)]
        await asyncio.sleep(1000)
        del held

    async def main():
        global keep
        keep = asyncio.ensure_future(hold(None))
        await asyncio.sleep(0)
        ask()
        keep.cancel()
    asyncio.run(main())
    return "asked"


@case("garbage")
def garbage_cycle():
    gc.disable()
    for i in range(COUNT):
        a, b = Box(), Box()
        a.other, b.other, a.data = b, a, blob(i)


@case("garbage")
def garbage_of_closures():
    gc.disable()
    for i in range(COUNT):
        def one(data=blob(i)):
            return one
        del one

    def make(i):
        data = blob(i)

        def inner():
            return inner, data
    for i in range(COUNT):
        make(i)


# A program that freezes as it goes on, so that the collector never comes to its cycles.
@case("frozen")
def garbage_that_is_frozen():
    for i in range(COUNT):
        a, b = Box(), Box()
        a.other, b.other, a.data = b, a, blob(i)
        gc.freeze()
        del a, b
    gc.collect()


@case("garbage")
def garbage_beside_frozen_objects():
    global keep
    keep = [Box() for _ in range(100)]
    gc.freeze()
    gc.disable()
    for i in range(COUNT):
        a, b = Box(), Box()
        a.other, b.other, a.data = b, a, blob(i)


class WithDel:
    def __del__(self):
        pass


@case("garbage")
def garbage_with_del():
    gc.disable()
    for i in range(COUNT):
        a = WithDel()
        a.me, a.data = a, blob(i)
        del a


@case(r"keep\[\*\]")
def frozen_objects():
    global keep
    keep = [[blob(i)] for i in range(COUNT)]
    gc.freeze()
    keep = [x[0] for x in keep]


@case(r"extra_module\.kept\[\*\]")
def other_module():
    module = types.ModuleType("extra_module")
    sys.modules["extra_module"] = module
    module.kept = [blob(i) for i in range(COUNT)]


@case(r"builtins\.kept\[\*\]")
def in_builtins():
    import builtins
    builtins.kept = [blob(i) for i in range(COUNT)]


@case(r"ids\[\*\]\.data")
def subclass_of_list():
    global ids

    class Ids(list):
        pass
    ids = Ids()
    for i in range(COUNT):
        box = Box()
        box.data = blob(i)
        ids.append(box)


@case(r"keep\.items\[\*\]")
def attribute_of_list_subclass():
    global keep

    class Ids(list):
        pass
    keep = Ids()
    keep.items = [blob(i) for i in range(COUNT)]

# ---- More of the standard library ----
@case(r"keep\._buffer\[\*\].*")
def multiprocessing_queue():
    import multiprocessing
    global keep
    keep = multiprocessing.Queue()
    for i in range(COUNT):
        keep.put(bytes(SIZE))
    # What the pipe cannot take stays in the buffer.
    keep.cancel_join_thread()


@case(r"keep\._exception\.<traceback>.*fail\(\) data\[\*\]")
def exception_of_future():
    import concurrent.futures
    global keep

    def fail():
        data = [blob(i) for i in range(COUNT)]
        raise ValueError(len(data))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        keep = pool.submit(fail)
        keep.exception()


@case(r"keep(\.<inside cycle>)+.*\[\*\]")
def iterator():
    import itertools
    global keep
    keep = itertools.cycle([blob(i) for i in range(COUNT)])
    for i in range(COUNT + 1):
        next(keep)


@case(r"keep\.data\[\*\]")
def simple_namespace():
    global keep
    keep = types.SimpleNamespace(data=[blob(i) for i in range(COUNT)])


@case(r"keep\..*(call_args_list|mock_calls|_mock).*")
def mock_calls():
    import unittest.mock
    global keep
    keep = unittest.mock.Mock()
    for i in range(COUNT):
        keep(blob(i))


@case(r"opaque: keep\[\*\]|keep\[\*\].*")
def bytes_io():
    import io
    global keep
    keep = []
    for i in range(COUNT):
        keep.append(io.BytesIO())
        keep[-1].write(bytes(SIZE))


@case(r"keep\.<function>\.<closure kept>\[\*\]|keep\.<self>\.kept\[\*\]|keep\..*<closure kept>\[\*\]")
def static_method_closure():
    global keep

    class Holder:
        pass

    def make():
        kept = [blob(i) for i in range(COUNT)]

        def use(self):
            return kept
        return use
    Holder.use = make()
    keep = Holder().use


@case(r"Chosen\.<inside.*|Chosen\.ONE.*\[\*\]")
def enum_member():
    import enum
    global Chosen

    class Chosen(enum.Enum):
        ONE = 1
    Chosen.ONE.data = [blob(i) for i in range(COUNT)]


if __name__ == "__main__":
    main()

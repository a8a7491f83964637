"""Allocations inside every construct of the language that makes or hides a frame. Run by construct_test.py."""
import asyncio
import contextlib
import ctypes
import functools
import gc
import os
import sys
import threading

import truth
from truth import expect, size

CASES = []


def case(function):
    CASES.append(function)
    return function


@case
def plain():
    n = size(); expect(n); bytearray(n - 1)


@case
def several_lines():
    n = size()
    kept = (
        expect(n),
        bytearray(n - 1),
    )
    truth.EXPECTED[n][0] = truth.EXPECTED[n][0][:2] + (truth.EXPECTED[n][0][2] + 1,)
    return kept


@case
def nested():
    def outer():
        def middle():
            def inner():
                n = size(); expect(n); return bytearray(n - 1)
            return inner()
        return middle()
    return outer()


@case
def generator():
    def numbers():
        for _ in range(3):
            n = size(); expect(n); yield bytearray(n - 1)
    for _ in numbers():
        pass
    return list(numbers())


@case
def yield_from():
    def inner():
        n = size(); expect(n); yield bytearray(n - 1)

    def outer():
        yield from inner()
    return list(outer())


@case
def generator_send_throw_close():
    def machine():
        try:
            while True:
                try:
                    yield None
                except KeyError:
                    n = size(); expect(n); bytearray(n - 1)
        finally:
            n = size(); expect(n); bytearray(n - 1)
    running = machine()
    next(running)
    running.send(None)
    running.throw(KeyError)
    running.close()


@case
def list_comprehension():
    return [(expect(n), bytearray(n - 1)) for n in (size(), size())]


@case
def dict_set_generator_expressions():
    f = lambda n: (expect(n), bytearray(n - 1))
    one = {n: f(n) for n in (size(), size())}
    two = {len(f(n)) for n in (size(),)}
    return one, two, list(f(n) for n in (size(),))


@case
def nested_comprehension():
    return [[(expect(n), bytearray(n - 1)) for n in (size(),)] for _ in range(2)]


@case
def sorted_key():
    def key(i):
        n = size(); expect(n); bytearray(n - 1); return -i
    return sorted(range(4), key=key), max(range(3), key=key)


@case
def map_filter_reduce():
    def f(*_):
        n = size(); expect(n); return bytearray(n - 1)
    return list(map(f, range(2))), list(filter(f, range(2))), functools.reduce(f, range(3))


def passing(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper


@case
def decorated_twice():
    @passing
    @passing
    def f():
        n = size(); expect(n); return bytearray(n - 1)
    return f()


@case
def cached():
    @functools.lru_cache(None)
    def f(_):
        n = size(); expect(n); return bytearray(n - 1)
    return f(1)


@case
def special_methods():
    class A:
        def __init__(self): n = size(); expect(n); self.kept = bytearray(n - 1)
        def __del__(self): n = size(); expect(n); bytearray(n - 1)
        def __getattr__(self, _): n = size(); expect(n); return bytearray(n - 1)
        def __getitem__(self, _): n = size(); expect(n); return bytearray(n - 1)
        def __call__(self): n = size(); expect(n); return bytearray(n - 1)
        def __add__(self, _): n = size(); expect(n); return bytearray(n - 1)
        def __enter__(self): n = size(); expect(n); return bytearray(n - 1)
        def __exit__(self, *_): n = size(); expect(n); bytearray(n - 1)
        @property
        def value(self): n = size(); expect(n); return bytearray(n - 1)
        @staticmethod
        def static(): n = size(); expect(n); return bytearray(n - 1)
        @classmethod
        def of_class(cls): n = size(); expect(n); return bytearray(n - 1)
        def __hash__(self): n = size(); expect(n); bytearray(n - 1); return 1
        def __eq__(self, _): n = size(); expect(n); bytearray(n - 1); return True
        def __iter__(self): n = size(); expect(n); bytearray(n - 1); return iter(())
    a = A()
    a.missing; a[0]; a(); a + a; a.value; A.static(); A.of_class(); {a: 1}; list(a)
    {a: 1, A(): 2}
    with a:
        pass
    del a


@case
def class_body_and_metaclass():
    class Meta(type):
        def __new__(cls, *args): n = size(); expect(n); bytearray(n - 1); return super().__new__(cls, *args)

    class Body(metaclass=Meta):
        n = size(); expect(n); kept = bytearray(n - 1)
    return Body


@case
def coroutines():
    async def leaf():
        await asyncio.sleep(0)
        n = size(); expect(n); return bytearray(n - 1)

    async def middle():
        return await leaf()

    async def numbers():
        for _ in range(2):
            n = size(); expect(n); yield bytearray(n - 1)

    @contextlib.asynccontextmanager
    async def context():
        n = size(); expect(n); yield bytearray(n - 1)

    async def main():
        async for _ in numbers():
            pass
        await asyncio.gather(middle(), middle())
        async with context():
            n = size(); expect(n); bytearray(n - 1)
        return [x async for x in numbers()]
    asyncio.run(main())


@case
def exceptions():
    try:
        raise ValueError
    except ValueError:
        n = size(); expect(n); bytearray(n - 1)
    finally:
        n = size(); expect(n); bytearray(n - 1)


@case
def recursion():
    def down(k):
        if k == 0:
            n = size(); expect(n); return bytearray(n - 1)
        return down(k - 1)
    down(100)


@case
def exec_and_eval():
    source = "def dynamic():\n    n = size(); expect(n); return bytearray(n - 1)\ndynamic()\n"
    for i in range(20):
        exec(compile("\n" * i + source, "<dynamic %d>" % i, "exec"), globals().copy())
    eval("(lambda n: (expect(n), bytearray(n - 1)))(size())", globals())


@case
def unicode_names():
    source = "def функция_名前_é():\n    n = size(); expect(n); return bytearray(n - 1)\nфункция_名前_é()\n"
    exec(compile(source, "/ünï/💩 space/файл.py", "exec"), globals().copy())
    exec(compile(source, os.fsdecode(b"/not utf-8 \xff\xfe.py"), "exec"), globals().copy())
    exec(compile(source, "/latin é.py", "exec"), globals().copy())


@case
def call_back_from_c():
    compare_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def compare(*_):
        n = size(); expect(n); bytearray(n - 1); return 0
    ctypes.CDLL(None).qsort((ctypes.c_int * 4)(4, 3, 2, 1), 4, 4, compare_type(compare))


@case
def gil_released():
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    n = size(); expect(n); libc.free(libc.malloc(n))


@case
def thread():
    def run():
        n = size(); expect(n); bytearray(n - 1)
    one = threading.Thread(target=run)
    one.start()
    one.join()


@case
def traced_and_profiled():
    def tracer(*_):
        return tracer

    def f():
        n = size()
        expect(n); kept = bytearray(n - 1)
        return kept
    before = sys.gettrace(), sys.getprofile()
    sys.settrace(tracer)
    try:
        f()
    finally:
        sys.settrace(before[0])
    sys.setprofile(lambda *_: None)
    try:
        f()
    finally:
        sys.setprofile(before[1])


@case
def star_calls():
    def f(*_, **__):
        n = size(); expect(n); return bytearray(n - 1)
    f(*[1, 2], **{"z": 3})
    functools.partial(f, 1)(2)


@case
def long_function():
    source = "def big():\n" + "".join("    a%d = %d\n" % (i, i) for i in range(700))
    source += "    n = size(); expect(n); return bytearray(n - 1)\n"
    namespace = globals().copy()
    exec(compile(source, "<big>", "exec"), namespace)
    namespace["big"]()


@case
def loops():
    i = 0
    while i < 2:
        i += 1
        n = size(); expect(n); bytearray(n - 1)
    for _ in range(2):
        n = size(); expect(n); bytearray(n - 1)
    else:
        n = size(); expect(n); bytearray(n - 1)


@case
def context_managers():
    @contextlib.contextmanager
    def context():
        n = size(); expect(n); yield bytearray(n - 1)
        n = size(); expect(n); bytearray(n - 1)
    with context(), contextlib.ExitStack() as stack:
        stack.enter_context(context())


@case
def weakref_and_gc_callbacks():
    import weakref

    class Node:
        pass

    def gone(_):
        n = size(); expect(n); bytearray(n - 1)
    node = Node()
    node.itself = node
    watch = weakref.ref(node, gone)
    del node
    gc.collect()
    return watch


if sys.version_info >= (3, 10):
    exec(compile('''
@case
def match_statement():
    match {"a": [1, 2]}:
        case {"a": [x, y]} if (n := size()):
            expect(n); bytearray(n - 1)
''', "<match>", "exec"))
if sys.version_info >= (3, 11):
    exec(compile('''
@case
def exception_group():
    try:
        raise ExceptionGroup("g", [ValueError(), KeyError()])
    except* ValueError:
        n = size(); expect(n); bytearray(n - 1)
    except* KeyError:
        n = size(); expect(n); bytearray(n - 1)
''', "<except star>", "exec"))
if sys.version_info >= (3, 12):
    exec(compile('''
@case
def type_parameters():
    def f[T](x: T):
        n = size(); expect(n); return bytearray(n - 1)
    return f(1)
''', "<type parameters>", "exec"))
if sys.version_info >= (3, 14):
    exec(compile('''
@case
def template_string():
    def f():
        n = size(); expect(n); return bytearray(n - 1)
    return t"{f()} and {f()}"
''', "<template>", "exec"))
try:
    import numpy

    @case
    def numpy_arrays():
        n = size(); expect(n); numpy.empty(n, dtype=numpy.uint8)
        n = size(); expect(n); numpy.zeros(n, dtype=numpy.uint8)
        numpy.vectorize(lambda v: (lambda k: (expect(k), bytearray(k - 1)))(size()) and v)(numpy.zeros(3))
except ImportError:
    pass

if __name__ == "__main__":
    gc.freeze()  # so that collecting after every case is cheap
    for _ in range(int(os.environ.get("ROUNDS", "40"))):
        for function in CASES:
            function()
            gc.collect()
    print("cases", len(CASES))
    truth.save()

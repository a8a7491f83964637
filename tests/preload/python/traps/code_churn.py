"""Code objects come and go at the same addresses."""
import collections
import ctypes
import dataclasses
import gc
import typing


def sink(_):
    return bytearray(700)


def like_fx():
    for i in range(3000):
        source = "def forward(self, x):\n" + "\n" * (i % 3) + "    y = x + %d\n    s(0)\n    return y\n" % i
        namespace = {"s": sink}
        exec(compile(source, "<eval_with_key>.%d" % (i % 7), "exec"), namespace)
        namespace["forward"](None, 1)


def named_tuples():
    for i in range(600):
        collections.namedtuple("T", ["a%d" % i, "b"])(1, 2)


def data_classes():
    for i in range(200):
        @dataclasses.dataclass
        class C:
            a: int = i
            b: typing.Any = dataclasses.field(default_factory=lambda: sink(0))
        C()
        repr(C() == C())


def lambdas():
    for i in range(3000):
        eval("lambda x: s(%d) if x else\\\n s(%d)" % (i, i), {"s": sink})(i % 2)


for function in (like_fx, named_tuples, data_classes, lambdas):
    function()
    gc.collect()
values = (ctypes.c_uint64 * 9)()
ctypes.CDLL(None).probe_statistics(values)
print("frames", values[1], "records", values[6], "address_reuses", values[7], "wrong", values[8], "bad", values[5],
      "no_id", values[4])

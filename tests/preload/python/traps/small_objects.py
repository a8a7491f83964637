"""Three lines that leak small objects, one that only churns. Prints the true bytes of each line."""
import gc
import os
import sys

A, B, C = [], [], []


class Node:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b


def leak_floats(i):
    A.append(i + 0.5)


def leak_dicts(i):
    B.append({"k": i})


def leak_nodes(i):
    C.append(Node(None, "s%d" % i))


def churn(_):
    return len([(j, str(j)) for j in range(400)])


COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 60000
for i in range(COUNT):
    leak_floats(i)
    if i % 2 == 0:
        leak_dicts(i)
    leak_nodes(i)
    if i % 20 == 0:
        churn(i)
gc.collect()
print(leak_floats.__code__.co_firstlineno + 1, sum(map(sys.getsizeof, A)))
print(leak_dicts.__code__.co_firstlineno + 1,
      sum(sys.getsizeof(d) + (16 if sys.version_info < (3, 9) else 0) for d in B))
print(leak_nodes.__code__.co_firstlineno + 1, sum(sys.getsizeof(n) + sys.getsizeof(n.b) for n in C))
print(churn.__code__.co_firstlineno + 1, 0)
sys.stdout.flush()
os._exit(0)  # before the interpreter frees everything

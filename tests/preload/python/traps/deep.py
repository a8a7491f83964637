"""Deeper than the walk goes: the leaf-side frames, and a mark that there was more."""
import sys

import truth

sys.setrecursionlimit(5000)


def down(k):
    if k == 0:
        n = truth.size(); truth.expect(n); return bytearray(n - 1)
    return down(k - 1)


down(900)
truth.save()

"""What programs with a known holder share: each keeps COUNT blocks of about SIZE bytes by one reference path.

The line above a program names the path as the walk shall: a regular expression for the whole path, or the kind of end
where there is none. The files *_cases.py have the programs, and run one of them: container_cases.py NAME. run.py runs all.
"""
import ctypes
import sys

COUNT, SIZE = 24, 200_001
EXPECTED = {}
CASES = {}


def case(expected):
    def add(function):
        EXPECTED[function.__name__] = expected
        CASES[function.__name__] = function
        return function
    return add


def blob(i=0):
    return bytearray(SIZE)


def ask():
    return ctypes.PyDLL(None).plateau_mark_holders()


class Box:
    pass


class Callback:
    def __init__(self):
        self.seen = []


class Slots:
    __slots__ = ("data", "next")


def main():
    """Builds what the case keeps, then asks; a case that asks by itself says so."""
    name = sys.argv[1]
    if CASES[name]() == "asked":
        return
    if name == "local_of_main":
        local = [blob(i) for i in range(COUNT)]
    ask()

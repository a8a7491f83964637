"""Counts rounds of the user's own loops with sys.monitoring (Python 3.12 and later); `plateau run --loop-rounds`.

Every function of the user's reports its jumps from its first call on; a jump backwards is a round of the loop that begins where it
lands. A mark with the loop's line and the number of the round is written at most once a millisecond and loop; with that of a loop come those
of the loops inside it, so that a busy machine does not put their last rounds behind its own. Functions of libraries
are looked at once, on their first call, and never again.

A loop whose rounds are shorter than 100 us would cost more than 1 % of its time; it is left alone after some thousand rounds where
another one that is counted went round meanwhile and less often. The outermost loop, which is the clock of the program, has no such
other and is counted whatever its pace.
"""

import os
import sys
import time

_NOTE = 14  # trace::MarkKind
_MARK_NS = 1_000_000  # between two marks of a loop
_FAST_NS = 100_000  # a round
_TRIAL = 4096  # rounds
_LEVELS = 3  # loops inside that are marked with one around them


class _Loop:
    __slots__ = ("code", "name", "rounds", "next_look", "marked_rounds", "marked_ns", "first_ns", "was_tried", "is_left", "before")

    def __init__(self, code, name, now):
        self.code, self.name, self.rounds, self.next_look = code, name, 0, 1  # next_look: the round at which the clock is read again
        self.marked_rounds, self.marked_ns, self.first_ns = 1, now, now
        self.was_tried = self.is_left = False  # is_left: no longer counted
        self.before = None  # the loop that went round last when this one did for the first time after it


def _is_users(code, library_folders):
    file = code.co_filename
    if file.startswith("<frozen") or "/site-packages/" in file or "/dist-packages/" in file:
        return False
    return not file.startswith(library_folders)


def start(mark):
    """False when every tool's place is taken, as by a debugger, a profiler and coverage at once."""
    monitoring = sys.monitoring
    for tool in (4, 3):  # the others have names in the documentation
        try:
            monitoring.use_tool_id(tool, "plateau")
            break
        except ValueError:
            continue
    else:
        return False
    disable, jump = monitoring.DISABLE, monitoring.events.JUMP
    library_folders = (os.path.dirname(os.__file__) + "/", os.path.dirname(os.path.abspath(__file__)) + "/")
    clock = time.perf_counter_ns
    loops = {}  # by the id of the code, which the loop keeps alive, and the head
    last = last_code = last_head = None  # the loop that went round last

    def on_start(code, offset):
        try:
            if _is_users(code, library_folders):
                monitoring.set_local_events(tool, code, jump)
        except Exception:  # code that refuses, as Cython's does
            pass
        return disable

    def name_of(code, head):
        for begin, end, line in code.co_lines():
            if begin <= head < end and line is not None:
                return ("round %s:%d" % (os.path.basename(code.co_filename), line)).encode()
        return ("round " + os.path.basename(code.co_filename)).encode()

    def is_inside_another(loop):
        return any(not other.is_left and other.rounds < loop.rounds and other.marked_ns > loop.first_ns for other in list(loops.values()))

    def mark_before(outer, now):
        loop = outer
        for _ in range(_LEVELS):
            loop = loop.before
            if loop is None or loop is outer or loop.rounds == loop.marked_rounds:
                return
            mark(_NOTE, loop.rounds, loop.name)
            loop.marked_ns, loop.marked_rounds = now, loop.rounds

    def on_jump(code, offset, head):
        try:
            return count(code, offset, head)
        except Exception:  # what goes wrong here must not reach the program
            return disable

    def count(code, offset, head):
        nonlocal last, last_code, last_head
        if head > offset:
            return disable
        if code is last_code and head == last_head:
            loop = last
        else:
            loop = loops.get((id(code), head))
            if loop is None:
                loop = loops[(id(code), head)] = _Loop(code, name_of(code, head), clock())
                mark(_NOTE, 1, loop.name)
            loop.before = last
            last, last_code, last_head = loop, code, head
        loop.rounds += 1
        if loop.rounds < loop.next_look:
            return None
        now = clock()
        since = now - loop.marked_ns
        if since >= _MARK_NS:
            mark_before(loop, now)
            mark(_NOTE, loop.rounds, loop.name)
            pace = since // (loop.rounds - loop.marked_rounds) or 1
            loop.next_look = loop.rounds + min(64, max(1, _MARK_NS // (4 * pace)))
            loop.marked_ns, loop.marked_rounds = now, loop.rounds
        if not loop.was_tried and loop.rounds >= _TRIAL:
            loop.was_tried = True
            if now - loop.first_ns < loop.rounds * _FAST_NS and is_inside_another(loop):
                loop.is_left = True
                mark(_NOTE, 0, loop.name)
                return disable
        return None

    def at_exit():
        for loop in list(loops.values()):  # the last number of each
            mark(_NOTE, loop.rounds, loop.name)

    import atexit

    atexit.register(at_exit)
    monitoring.register_callback(tool, monitoring.events.PY_START, on_start)
    monitoring.register_callback(tool, jump, on_jump)
    monitoring.set_events(tool, monitoring.events.PY_START)
    return True

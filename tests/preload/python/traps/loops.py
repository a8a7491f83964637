"""Functions with loops of every shape, each run long enough to be specialised. Prints, for each, its loops as dis sees them."""
import dis
import json
import sys

kept = []


def hold():
    kept.append(bytearray(40000))
    if len(kept) > 5:
        kept.pop(0)


def plain(n):
    for i in range(n):
        hold()
    i = 0
    while i < n:
        hold()
        i += 1


def nested(n):
    for i in range(n):
        for j in range(2):
            if j == i % 2:
                continue
            hold()
        else:
            hold()


def handlers(n):
    with open("/dev/null") as file:
        file.read()
        hold()
    try:
        hold()
        raise ValueError("on purpose")
    except ValueError as error:
        str(error)
    hold()
    for i in range(n):
        try:
            hold()
            int("x" if i % 3 else "1")
        except ValueError:
            continue
        hold()


def forever(n):
    while True:
        n -= 1
        if n < 0:
            break
        hold()


def generator(n):
    for i in range(n):
        hold()
        yield i


def delegating(n):
    yield from generator(n)
    hold()


def comprehension(n):
    return sum([len(str(hold())) for i in range(n)])


def long_body(n):
    total = 0
    for i in range(n):
        # More than 256 units of bytecode: the jump back needs an extended argument.
        total += i * 3 + i * 5 + i * 7 + i * 11 + i * 13 + i * 17 + i * 19 + i * 23 + i * 29 + i * 31 + i * 37
        total -= i * 3 + i * 5 + i * 7 + i * 11 + i * 13 + i * 17 + i * 19 + i * 23 + i * 29 + i * 31 + i * 37
        total += i * 3 + i * 5 + i * 7 + i * 11 + i * 13 + i * 17 + i * 19 + i * 23 + i * 29 + i * 31 + i * 37
        total -= i * 3 + i * 5 + i * 7 + i * 11 + i * 13 + i * 17 + i * 19 + i * 23 + i * 29 + i * 31 + i * 37
        hold()
    return total


def none():
    hold()


def loops_of(code):
    heads, real, before = {}, set(), []
    for one in dis.get_instructions(code):
        target = one.argval if one.opcode in dis.hasjabs or one.opcode in dis.hasjrel else None
        if target is not None and target <= one.offset and "NO_INTERRUPT" not in one.opname:
            heads[target] = max(heads.get(target, 0), one.offset)
            if "POP_EXCEPT" not in before[-4:]:
                real.add(target)
        if one.opname not in ("CACHE", "EXTENDED_ARG"):
            before.append(one.opname)
    return sorted([head // 2, tail // 2] for head, tail in heads.items() if head in real)


truth = {}
for function in (plain, nested, handlers, forever, comprehension, long_body):
    truth[function.__name__] = loops_of(function.__code__)  # before the instructions are specialised
for function in (generator, delegating):
    truth[function.__name__] = loops_of(function.__code__)
truth["none"] = loops_of(none.__code__)
for function in (plain, nested, handlers, forever, comprehension, long_body):
    function(300)
list(generator(300))
list(delegating(300))
none()
json.dump(truth, sys.stdout)

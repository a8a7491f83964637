"""Reads what probe.cc wrote and turns bytecode offsets into lines.

The line decoder is written from the published formats alone, so that it checks the shim's raw tables and the
analyzer's decoder independently.
"""


BYTES_HEADER = 32  # from 3.15 on a bytearray keeps its bytes in a bytes object


def of_request(stacks, size):
    """The stacks of a malloc of `size` bytes, or of the bytearray that was meant by it."""
    return stacks.get(size) or stacks.get(size + BYTES_HEADER)


def _varint(table, i):
    value = shift = 0
    while True:
        byte = table[i]
        i += 1
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64:
            return value, i


def _signed(byte):
    return byte - 256 if byte > 127 else byte


def line_at(version, first_line, table, offset):
    """The line of the instruction at a byte offset; None where the table says that there is none."""
    minor = version & 255
    if offset == 0xFFFFFFFF:
        return first_line
    line = first_line
    if minor <= 9:
        address = 0
        for i in range(0, len(table) - 1, 2):
            address += table[i]
            if address > offset:
                break
            line += _signed(table[i + 1])
        return line
    if minor == 10:
        end = 0
        for i in range(0, len(table) - 1, 2):
            start, end = end, end + table[i]
            delta = _signed(table[i + 1])
            if delta != -128:
                line += delta
            if start <= offset < end:
                return None if delta == -128 else line
        return None
    i, unit = 0, 0
    while i < len(table):
        head = table[i]
        i += 1
        kind, count, here = head >> 3 & 15, (head & 7) + 1, True
        if kind == 15:
            here = False
        elif kind in (13, 14):
            value, i = _varint(table, i)
            line += -(value >> 1) if value & 1 else value >> 1
            if kind == 14:
                for _ in range(3):
                    _, i = _varint(table, i)
        elif kind >= 10:
            line += kind - 10
            i += 2
        else:
            i += 1
        if unit <= offset // 2 < unit + count:
            return line if here else None
        unit += count
    return None


def read(path):
    """{requested bytes: [[(file, name, line), ...], ...]}, leaf first; one list per request of that size."""
    codes, stacks = {}, {}
    with open(path, "rb") as lines:
        for line in lines:
            fields = line.split()
            if fields[0] == b"C":
                blobs = [b"" if f == b"-" else bytes.fromhex(f.decode()) for f in fields[4:7]]
                codes[int(fields[1])] = (int(fields[2]), int(fields[3]), blobs[0].decode("utf-8", "surrogatepass"),
                                         blobs[1].decode("utf-8", "surrogatepass"), blobs[2])
            elif fields[0] == b"S":
                stack = []
                for frame in fields[4:]:
                    number, offset = (int(x) for x in frame.split(b":")[:2])
                    version, first_line, file, name, table = codes[number]
                    stack.append((file, name, line_at(version, first_line, table, offset)))
                stacks.setdefault(int(fields[1]), []).append(stack)
    return stacks


class Merged:
    """Merged stacks: {requested bytes: [[frame, ...], ...]}, leaf first. A frame is ("py", file, name, line),
    ("native", module path, offset) or ("cut",)."""

    def __init__(self, path):
        codes, modules, locations, nodes = {}, {0: ""}, {}, {}
        self.stacks = {}
        with open(path, "rb") as lines:
            for line in lines:
                kind, *fields = line.split()
                if kind == b"C":
                    blobs = [b"" if f == b"-" else bytes.fromhex(f.decode()) for f in fields[3:6]]
                    codes[int(fields[0])] = (int(fields[1]), int(fields[2]), blobs[0].decode("utf-8", "surrogatepass"),
                                             blobs[1].decode("utf-8", "surrogatepass"), blobs[2])
                elif kind == b"M":
                    modules[int(fields[0])] = bytes.fromhex(fields[2].decode()).decode()
                elif kind == b"L":
                    module, offset = int(fields[1]), int(fields[2], 16)
                    is_mark = module == 0 and offset < 4096
                    locations[int(fields[0])] = ("cut",) if is_mark else ("native", modules[module], offset)
                elif kind == b"P":
                    version, first_line, file, name, table = codes[int(fields[1])]
                    locations[int(fields[0])] = ("py", file, name, line_at(version, first_line, table, int(fields[2])))
                elif kind == b"N":
                    nodes[int(fields[0])] = (int(fields[1]), int(fields[2]))
                elif kind == b"T":
                    stack, node = [], int(fields[1])
                    while node:
                        node, location = nodes[node]
                        stack.append(locations[location])
                    self.stacks.setdefault(int(fields[0]), []).append(stack)

    def python_only(self):
        return {size: [[frame[1:] for frame in stack if frame[0] == "py"] for stack in stacks]
                for size, stacks in self.stacks.items()}

"""Prints code objects of this interpreter with their line tables and what the interpreter itself says about them.

One line per code object: version, first line, table (hex), then offset:line pairs. Run with every Python that is supported:

    for v in 3.8 3.9 3.10 3.11 3.12 3.13 3.14; do python$v make_python_line_tables.py; done > python_line_tables.txt
"""
import dis
import sys

SOURCE = '''
def plain(a, b):
    c = a + b

    return c


class Model:
    def forward(self, x):
        y = [
            i * 2
            for i in x
            if i % 3
        ]
        z = self.helper(
            y,
            key=lambda v: v +
            1,
        )
        with open("f") as f:
            try:
                f.write(str(z))
            except (OSError,
                    ValueError) as e:
                raise RuntimeError("x") from e
            finally:
                del y
        return z

    @property
    def far(self):
''' + "\n" * 300 + '''
        value = 1
''' + "\n" * 150 + '''
        return (value +
''' + "\n" * 200 + '''
                2)


async def loop(n):
    while n:
        n -= 1
        if n == 3: continue
        for k in range(n): yield k; n += k
''' + "def big(x):\n" + "".join("    x = x + %d * (x - %d)\n" % (i, i) for i in range(200)) + "    return x\n"


def walk(code):
    yield code
    for const in code.co_consts:
        if hasattr(const, "co_code"):
            yield from walk(const)


for code in walk(compile(SOURCE, "model.py", "exec")):
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    lines = {}
    if sys.version_info >= (3, 10):
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                if line is not None:
                    lines[offset] = line
    else:
        starts = list(dis.findlinestarts(code))
        for offset in range(0, len(code.co_code), 2):
            before = [line for start, line in starts if start <= offset]
            if before:
                lines[offset] = before[-1]
    print(hex(sys.version_info[0] << 8 | sys.version_info[1]), code.co_firstlineno, table.hex() or "-",
          " ".join("%d:%d" % item for item in sorted(lines.items())[::3]))

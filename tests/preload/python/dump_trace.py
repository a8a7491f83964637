"""Reads recordings of libplateau.so through `plateau dump`."""
import glob
import math
import os
import re
import subprocess

import probe_trace

_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})|\\(.)", re.S)
_PLAIN = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def _text(quoted):
    raw = _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]) if m[1] else _PLAIN.get(m[2], m[2]), quoted[1:-1])
    return raw.decode("utf-8", "surrogatepass")


_FIELD = re.compile(rb'(\w+)=("(?:[^"\\]|\\.)*"|\S*)')


class Trace:
    """One process: `events` in file order as (kind, fields), stacks as lists of frames, leaf first."""

    def __init__(self, path):
        self.infos, self.events, self.loops = {}, [], []
        self._codes, self._locations, self._nodes, self._modules = {}, {}, {}, {0: ""}
        plateau = os.path.join(os.environ["PLATEAU_BUILD"], "bin", "plateau")
        out = subprocess.run([plateau, "dump", path], stdout=subprocess.PIPE, check=True).stdout
        self.sample_bytes = 512 * 1024
        self.period = None  # of the last change of rate
        for line in out.split(b"\n"):
            words = line.split(b" ", 2 if line.startswith(b"@") else 1)
            if line.startswith(b"@"):
                words = words[1:]
            if len(words) < 2:
                continue
            kind, fields = words[0].decode(), dict(_FIELD.findall(words[1]))
            self._take(kind, {key.decode(): value for key, value in fields.items()})

    def _take(self, kind, f):
        if kind == "info":
            self.infos[_text(f["key"])] = _text(f["value"])
        elif kind == "code":
            self._codes[int(f["code"])] = (int(f["python"], 16), int(f["line"]), _text(f["file"]), _text(f["name"]),
                                           bytes.fromhex(f["table"].decode()))
            self.loops.append((_text(f["file"]), _text(f["name"]), bytes.fromhex(f.get("loops", b"").decode())))
        elif kind == "python_location":
            self._locations[int(f["location"])] = ("py", int(f["code"]), int(f["offset"]))
        elif kind == "module":
            self._modules[int(f["module"])] = _text(f["path"])
        elif kind == "pc":
            self._locations[int(f["location"])] = ("native", int(f["module"]), int(f["offset"], 16))
        elif kind == "node":
            self._nodes[int(f["node"])] = (int(f["parent"]), int(f["location"]))
        elif kind == "rate":
            self.sample_bytes = self.period = int(f["sample"])
        elif kind in ("alloc", "free", "alloc_in", "free_in", "map", "unmap", "thread_start"):
            self.events.append((kind, {key: _number(value) for key, value in f.items()}))
            self.events[-1][1]["period"] = self.period

    def stack(self, node):
        frames = []
        while node:
            node, location = self._nodes[node]
            frames.append(self._frame(location))
        return frames

    def _frame(self, location):
        """Only after the whole file: one thread's block may name what another's, written later, defines."""
        kind, owner, offset = self._locations[location]
        if kind == "native":
            return kind, self._modules.get(owner), offset
        version, first, file, name, table = self._codes[owner]
        return "py", file, name, probe_trace.line_at(version, first, table, offset)

    def python_frames(self, node):
        return [frame[1:] for frame in self.stack(node) if frame[0] == "py"]

    def stacks_by_size(self):
        found = {}
        for kind, f in self.events:
            if kind == "alloc":
                found.setdefault(f["bytes"], []).append(self.python_frames(f["stack"]))
        return found

    def live_small_objects(self, script):
        """Estimated live bytes of sampled small objects by line of `script`: {line: bytes}."""
        live, by_line = {}, {}
        for kind, f in self.events:
            if kind == "alloc_in":
                live[f["address"]] = f
            elif kind == "free_in":
                live.pop(f["address"], None)
        for f in live.values():
            weight = f["bytes"] / -math.expm1(-f["bytes"] / self.sample_bytes)
            for file, _, line in self.python_frames(f["stack"]):
                if os.path.basename(file) == script:
                    by_line[line] = by_line.get(line, 0) + weight
                    break
        return by_line


def _number(value):
    try:
        return int(value, 0)
    except ValueError:
        return value


def read(folder):
    """The traces of a recording, by pid."""
    traces = {}
    for path in glob.glob(os.path.join(folder, "*.plt")):
        traces[int(re.search(r"\.(\d+)\.\d+\.plt$", path)[1])] = Trace(path)
    return traces

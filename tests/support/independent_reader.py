#!/usr/bin/env python3
"""Reads a trace file as docs/trace-format.md describes it, and prints its records as `plateau dump` does.

Written after that page and sharing no code with Plateau: what this reader and `plateau dump` both print is what the
page says. When the two differ, either the page or the program is wrong. Raw and packed files, whole ones and those of
a killed process; damage ends the program with a message instead of being repaired.

    independent_reader.py TRACE.plt
"""

import ctypes
import ctypes.util
import struct
import sys

MASK64, MASK32 = 2**64 - 1, 2**32 - 1


class Damage(Exception):
    pass


def crc32c_table():
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


CRC_TABLE = list(crc32c_table())


def crc32c(data):
    crc = MASK32
    for byte in data:
        crc = (crc >> 8) ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc ^ MASK32


def unzigzag(value):
    return (value >> 1) ^ -(value & 1)


class Bytes:
    """A cursor over bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def byte(self):
        if self.at >= len(self.data):
            raise Damage("bytes are missing")
        self.at += 1
        return self.data[self.at - 1]

    def number(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise Damage("a number is too long")
        if value > MASK64:
            raise Damage("a number has more than 64 bits")
        return value

    def signed(self):
        return unzigzag(self.number())

    def take(self, count):
        if count > self.left():
            raise Damage("bytes are missing")
        self.at += count
        return self.data[self.at - count:self.at]

    def text(self):
        return self.take(self.number())


def put_number(out, value):
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


# --- Records -------------------------------------------------------------------------------------------------------

EXT, ALLOC, FREE, NODE, PC, TIME, ALLOC_IN, FREE_IN = range(8)
MODES = {0: "default", 1: "exact", 2: "off", 3: "folded"}
MAPS = {1: "anonymous", 2: "file", 3: "shared", 4: "arena"}
REASONS = {0: "reentrant", 1: "no_slot", 2: "write_failed", 3: "size_limit", 4: "contended"}
SOURCES = {1: "record_function", 2: "cpp_hook", 3: "explicit", 4: "sitecustomize"}
MARKS = ("none step epoch phase_begin phase_end zero_grad backward_begin backward_end fetch_begin fetch_end train_mode "
         "optimizer_begin explicit_step op note fetch_stop marks_left_out").split()
LEDGER = ("none rss_anon rss_file rss_shmem allocator_arena allocator_free allocator_mmap cgroup_current cgroup_limit "
          "host_limit own swap private_dirty shared threads host_available open_files mappings").split()

WALK_REASONS = "none steps time request program end".split()
WALK_RESULTS = {1: "done", 2: "cut_by_time", 3: "cut_by_memory", 10: "skipped_budget", 11: "skipped_memory",
                12: "skipped_import", 13: "skipped_finalizing", 14: "skipped_collecting", 15: "skipped_unsupported",
                16: "skipped_no_table", 17: "skipped_no_targets"}
HOLDER_ENDS = ("none path garbage native_block module_data unreachable opaque not_found graph native native_stack "
               "native_memory frozen").split()
SEGMENTS = ("none module frame file interpreter native global attribute slot type_dict key key_itself index member local "
            "cell default generator traceback context self function buffer inside graph native_class repeat thread_local "
            "context_var weak_callback").split()


def word(names, index):
    if isinstance(names, dict):
        return names.get(index, "unknown")
    return names[index] if index < len(names) else "unknown"


def quoted(text):
    special = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
    return '"' + "".join(special.get(b) or (chr(b) if 32 <= b < 127 else f"\\x{b:02x}") for b in text) + '"'


class RecentAddresses:
    def __init__(self):
        self.table = [0] * 128

    @staticmethod
    def place(address):
        return (address * 0x9E3779B97F4A7C15 & MASK64) >> 57

    def get(self, number, flag, before):
        if flag and number < 128:
            return self.table[number]
        address = (before + (unzigzag(number - 128) if flag else unzigzag(number) * 16)) & MASK64
        self.table[self.place(address)] = address
        return address

    def put(self, address, before):
        """The number for an address and whether the flag is set."""
        place = self.place(address)
        if self.table[place] == address:
            return place, True
        self.table[place] = address
        delta = (address - before + 2**63) % 2**64 - 2**63
        zigzag = lambda v: v * 2 if v >= 0 else -v * 2 - 1
        if (address | before) % 16 == 0:
            return zigzag(delta >> 4), False
        return 128 + zigzag(delta), True


def class_of(size):
    return min((size + 15) // 16, 63)


class Guesses:
    def __init__(self):
        self.table = {}

    def _entry(self, key):
        return self.table.setdefault((key * 2654435761 & MASK32) >> 20, [0, 0])

    def called_from(self, location):
        return self._entry(2 * location & MASK32)

    def after(self, location):
        return self._entry(2 * location + 1 & MASK32)

    @staticmethod
    def learn(entry, location):
        if entry[0] != location:
            entry[0], entry[1] = location, entry[0]


class Records:
    """The records of one payload of type 1, as lines."""

    def __init__(self, payload, first_tsc):
        self.b, self.tsc = Bytes(payload), first_tsc
        self.recent, self.in_recent = RecentAddresses(), RecentAddresses()
        self.address = self.in_address = self.size = self.in_size = self.stack = 0
        self.class_address = [0] * 64
        self.location = self.offset = self.code = 0
        self.node = self.node_location = 0
        self.path, self.guesses = [], Guesses()

    def lines(self):
        while self.b.left():
            tag = self.b.byte()
            op, flags = tag & 7, tag >> 3
            if op == NODE:
                yield from self.nodes(flags)
            elif op == EXT:
                yield self.ext(flags)
            else:
                stamped, text = self.hot(op, flags)
                yield (f"@{self.tsc} " if stamped else "") + text

    def hot(self, op, flags):
        b = self.b
        if op == TIME:
            self.tsc = (self.tsc + b.number()) & MASK64
            return True, "time"
        if op == PC:
            return False, self.pc(flags)
        if op in (ALLOC, ALLOC_IN):
            if op == ALLOC:
                address = self.address = self.recent.get(b.number(), flags & 8, self.address)
                if not flags & 1:
                    self.size = b.number()
                size = self.size
            else:
                if not flags & 1:
                    self.in_size = b.number()
                size = self.in_size
                of_class = class_of(size)
                address = self.in_recent.get(b.number(), flags & 8, self.class_address[of_class])
                self.class_address[of_class] = self.in_address = address
            if not flags & 2:
                self.stack = (self.stack + b.signed()) & MASK32
            self.time_if(flags & 16)
            name = "alloc" if op == ALLOC else "alloc_in"
            realloc = " realloc" if op == ALLOC and flags & 4 else ""
            return flags & 16, f"{name} address=0x{address:x} bytes={size} stack={self.stack}{realloc}"
        if op == FREE:
            address = self.address = self.recent.get(b.number(), flags & 1, self.address)
        else:
            address = self.in_address = self.in_recent.get(b.number(), flags & 1, self.in_address)
        self.time_if(flags & 4)
        name = "free" if op == FREE else "free_in"
        return flags & 4, f"{name} address=0x{address:x}" + (" realloc" if op == FREE and flags & 2 else "")

    def time_if(self, present):
        if present:
            self.tsc = (self.tsc + self.b.number()) & MASK64

    def pc(self, flags):
        b = self.b
        self.location = (self.location + (1 if flags & 1 else b.signed())) & MASK32
        if flags & 2:
            self.code = (self.code + b.signed()) & MASK32
            offset = (b.number() - 1) & MASK32
            return f"python_location location={self.location} code={self.code} offset={offset}"
        module = b.number() & MASK32
        self.offset = (self.offset + b.signed()) & MASK64
        return f"pc location={self.location} module={module} offset=0x{self.offset:x}"

    def add_node(self, node, parent, location):
        if len(self.path) == 128:
            del self.path[:64]
        self.path.append((node, location))
        self.node = self.stack = node
        self.node_location = location
        return f"node node={node} parent={parent} location={location}"

    def node_location_number(self, entry, before):
        number = self.b.number()
        if number < 2:
            return entry[number]
        return self.location if number == 2 else (before + unzigzag(number - 3)) & MASK32

    def nodes(self, code):
        b = self.b
        if code == 0:
            node = (self.node + b.signed()) & MASK32
            parent = (node - b.signed()) & MASK32
            location = self.node_location_number((0, 0), self.node_location)
            self.path = [(parent, 0)]
            yield self.add_node(node, parent, location)
            return
        if not self.path or code > 26:
            raise Damage("a node without a path, or of an unknown form")
        if code <= 7:
            for _ in range(code):
                parent, called_from = self.path[-1]
                yield self.add_node(self.node + 1 & MASK32, parent, self.guesses.called_from(called_from)[0])
            return
        if code <= 24:
            distance = b.number() if code == 24 else (code - 8) % 8 + 1
            if not 0 < distance < len(self.path):
                raise Damage("a node that is no branch of the path")
            replaced = self.path[-distance][1]
            entry = self.guesses.after(replaced)
            location = entry[0] if code < 16 else self.node_location_number(entry, replaced)
            del self.path[-distance:]
        else:
            called_from = self.path[-1][1]
            entry = self.guesses.called_from(called_from)
            location = entry[1] if code == 26 else self.node_location_number((0, 0), called_from)
        self.guesses.learn(entry, location)
        yield self.add_node(self.node + 1 & MASK32, self.path[-1][0], location)

    def ext(self, kind):
        if kind == 31:
            kind = self.b.number()
        b = Bytes(self.b.take(self.b.number()))
        n, t = b.number, b.text
        if kind == 1:
            return f"info key={quoted(t())} value={quoted(t())}"
        if kind == 2:
            return (f"module module={n()} base=0x{n():x} begin=0x{n():x} bytes={n()} path={quoted(t())} "
                    f"build_id={t().hex()}")
        if kind == 3:
            return f"module_gone module={n()}"
        if kind == 4:
            return (f"code code={n()} python=0x{n():x} line={n()} file={quoted(t())} name={quoted(t())} "
                    f"table={t().hex()}")
        if kind == 5:
            return f"thread_start thread={n()} creator={n()} stack={n()} name={quoted(t())}"
        if kind == 6:
            return "thread_end"
        if kind == 7:
            return f"map address=0x{n():x} bytes={n()} prot={n()} flags=0x{n():x} kind={word(MAPS, n())} stack={n()}"
        if kind == 8:
            return f"unmap address=0x{n():x} bytes={n()}"
        if kind == 9:
            return f"remap old=0x{n():x} old_bytes={n()} new=0x{n():x} new_bytes={n()} stack={n()}"
        if kind == 10:
            return f"break new=0x{n():x} change={b.signed()} stack={n()}"
        if kind == 11:
            return f"mark kind={word(MARKS, n())} source={word(SOURCES, n())} value={n()} name={quoted(t())}"
        if kind == 12:
            return "ledger" + "".join(f" {word(LEDGER, n())}={n()}" for _ in range(n()))
        if kind == 13:
            return f"drop reason={word(REASONS, n())} events={n()} bytes={n()}"
        if kind == 14:
            return f"rate mode={word(MODES, n())} exact_from={n()} sample={n()}"
        if kind == 15:
            op, level, memory, graph, device = n(), n(), n(), n(), b.signed()
            return (f"device op={op} level={level} memory={memory} device={device} address=0x{n():x} bytes={n()} "
                    f"handle=0x{n():x} total={n()} reserved={n()} stack={n()} api={quoted(t())}"
                    + (" graph" if graph else ""))
        if kind == 16:
            return f"tensor address=0x{n():x} bytes={n()}"
        if kind == 17:
            return f"tensor_gone address=0x{n():x}"
        if kind == 18:
            return "realloc_cancel"
        if kind == 19:
            return f"fork child={n()}"
        if kind == 20:
            return (f"totals allocs={n()} alloc_bytes={n()} frees={n()} freed_bytes={n()} recorded_allocs={n()} "
                    f"recorded_frees={n()}")
        if kind == 21:
            return f"copied_pages runs={t().hex()}"
        if kind in (22, 23):
            values = [n() for _ in range(5)] if kind == 22 else struct.unpack("<2xI4Q", b.take(38))
            keys = "stack allocs_256 alloc_bytes frees_256 free_bytes".split()
            return ("fold_totals" if kind == 22 else "fold_row") + "".join(f" {k}={v}" for k, v in zip(keys, values))
        if kind == 24:
            region = "map" if n() == 2 else "block"
            return f"residency region={region} address={n():#x} bytes={n()} resident={n()} birth={n()}"
        if kind == 25:
            walk, reason, result = n(), word(WALK_REASONS, n()), WALK_RESULTS.get(n(), "unknown")
            keys = "step objects elapsed own asked found garbage garbage_bytes".split()
            figures = "".join(f" {key}={n()}" for key in keys)
            frozen = n()
            return (f"holder_walk walk={walk} reason={reason} result={result}{figures} frozen={frozen >> 1} limit={n()}"
                    + (" gc_disabled" if frozen & 1 else ""))
        if kind == 26:
            line = (f"holder walk={n()} stack={n()} end={word(HOLDER_ENDS, n())} found={n()} asked={n()} bytes={n()} "
                    f"container=0x{n():x} length={n()} bound={n()} at={n()} native_stack={n()} type={quoted(t())} "
                    f"what={quoted(t())}")
            path = Bytes(t())
            while path.left():
                segment = f"{word(SEGMENTS, path.number())},{path.number()},".encode() + path.text()
                line += f" in={quoted(segment)}"
            return line
        if kind == 27:
            keys = "number age rss_anon rss_file rss_shmem own arena arena_free arena_mmap words modules left_out held".split()
            return "attach" + "".join(f" {key}={n()}" for key in keys) + (" program_imports" if n() else "")
        return f"unknown kind={kind}"


# --- Packed blocks -------------------------------------------------------------------------------------------------

def unzstd(data, size):
    lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    lib.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out = ctypes.create_string_buffer(size)
    if lib.ZSTD_decompress(out, size, bytes(data), len(data)) != size:
        raise Damage("a column does not unpack")
    return out.raw


class Heap:
    """The objects of one allocator in one packed block."""

    def __init__(self, columns, first, own_bytes, smallest):
        (self.stack, self.size_codes, self.size_far, self.places, self.place_far, self.freed, self.freed_far,
         self.elder, self.reused) = (columns[first + i] for i in range(9))
        self.own_bytes, self.smallest = own_bytes, smallest
        self.sizes = [0]
        self.objects = [(0, 0)]  # (address, class), numbered from 1
        self.lists = {}
        self.frees = [0]  # addresses, numbered from 1
        self.cursors = [0] * 16
        self.last_reused = {}  # by class
        self.last_allocated = self.last_units = self.last_freed = self.last_elder = self.last_object = 0

    def size(self):
        code = self.size_codes.byte()
        if code == 0:
            size = self.size_far.number()
            if len(self.sizes) <= 16384:
                self.sizes.append(size)
            return size
        entry = code if code < 192 else 192 + 256 * (code - 192) + self.size_far.byte()
        if entry >= len(self.sizes):
            raise Damage("a size that is not in the dictionary")
        return self.sizes[entry]

    @staticmethod
    def distance(column):
        number = column.number()
        return unzigzag(number >> 1) * 16 if number % 2 == 0 else column.signed()

    def allocate(self, size):
        units = max((size + self.own_bytes + 15) // 16, self.smallest)
        of_class = min(units, 4095)
        code = self.places.byte()
        if code < 40:
            freed = self.lists.get(of_class, [])
            if code >= len(freed):
                raise Damage("a place behind the end of its list")
            address = self.objects[freed.pop(-1 - code)][0]
        elif code < 56:
            address = self.cursors[code - 40]
        elif code == 200:
            address = self.last_allocated + 16 * self.last_units & MASK64
        elif code == 201:
            address = self.last_freed
        elif code == 202:
            address = (self.last_allocated + self.distance(self.place_far)) & MASK64
        elif code == 203:
            number = self.last_reused.get(of_class, 0) + self.reused.signed()
            if not 0 < number < len(self.frees):
                raise Damage("a free that was not")
            self.last_reused[of_class] = number
            address = self.frees[number]
        else:
            raise Damage("an unknown place")
        if code >= 40:
            self.cursors.pop(self.cursors.index(address) if address in self.cursors else -1)
            self.cursors.insert(0, address + 16 * units & MASK64)
        self.objects.append((address, of_class))
        self.last_allocated, self.last_units = address, units
        return address

    def free(self):
        code = self.freed.byte()
        if code == 255:
            self.last_freed = self.last_elder = (self.last_elder + self.distance(self.elder)) & MASK64
            self.frees.append(self.last_freed)
            return self.last_freed
        newest = len(self.objects) - 1
        if code < 40:
            number = self.last_object + unzigzag(code + 1)
        elif code < 200:
            number = newest - (code - 40)
        elif code < 250:
            number = newest - (160 + 256 * (code - 200) + self.freed_far.byte())
        elif code == 250:
            number = self.last_object + self.freed_far.signed()
        else:
            raise Damage("an unknown free")
        if not 0 < number <= newest:
            raise Damage("a free of no object")
        address, of_class = self.objects[number]
        self.lists.setdefault(of_class, []).append(number)
        self.frees.append(address)
        self.last_object, self.last_freed = number, address
        return address


def unpack(payload, raw_bytes):
    b = Bytes(payload)
    if b.byte() != 1:
        raise Damage("packed in an unknown way")
    columns = [Bytes(b"") for _ in range(64)]
    while b.left():
        column, size, packed = b.number(), b.number(), b.number()
        columns[column] = Bytes(unzstd(b.take(packed), size))
    out = bytearray()
    malloc, pymalloc = Heap(columns, 8, 8, 2), Heap(columns, 20, 0, 1)
    recent, in_recent = RecentAddresses(), RecentAddresses()
    address = in_address = size = in_size = 0
    class_address = [0] * 64
    tags, times, nodes, locations, offsets = columns[:5]

    def copy(column):
        start = column.at
        column.number()
        out.extend(column.data[start:column.at])

    def put_address(value, before, table, flag, at):
        number, is_flagged = table.put(value, before)
        put_number(out, number)
        if is_flagged:
            out[at] |= flag << 3

    while tags.left():
        tag = tags.byte()
        op, flags, at = tag & 7, tag >> 3, len(out)
        out.append(tag)
        if op == ALLOC:
            if not flags & 1:
                size = malloc.size()
            before, address = address, malloc.allocate(size)
            put_address(address, before, recent, 8, at)
            if not flags & 1:
                put_number(out, size)
        elif op == ALLOC_IN:
            if not flags & 1:
                in_size = pymalloc.size()
                put_number(out, in_size)
            in_address = pymalloc.allocate(in_size)
            put_address(in_address, class_address[class_of(in_size)], in_recent, 8, at)
            class_address[class_of(in_size)] = in_address
        elif op == FREE:
            before, address = address, malloc.free()
            put_address(address, before, recent, 1, at)
        elif op == FREE_IN:
            before, in_address = in_address, pymalloc.free()
            put_address(in_address, before, in_recent, 1, at)
        elif op == NODE:
            count = 3 if flags == 0 else 2 if flags == 24 else 1 if 16 <= flags < 24 or flags == 25 else 0
            for _ in range(count):
                copy(nodes)
        elif op == PC:
            for _ in range(1 if flags & 1 else 2):
                copy(locations)
            copy(offsets)
        elif op == TIME:
            copy(times)
        else:
            column = columns[63 if flags == 31 else 32 + flags]
            start = column.at
            if flags == 31:
                column.number()
            column.take(column.number())
            out.extend(column.data[start:column.at])
        if op in (ALLOC, ALLOC_IN):
            if not flags & 2:
                copy((malloc if op == ALLOC else pymalloc).stack)
            if flags & 16:
                copy(times)
        elif op in (FREE, FREE_IN) and flags & 4:
            copy(times)
    if any(column.left() for column in columns) or len(out) != raw_bytes:
        raise Damage("columns that do not fit together")
    return bytes(out)


# --- The file ------------------------------------------------------------------------------------------------------

class Trace:
    """The blocks of a file: {(stream, seq): (offset, is_open, type, first_tsc, raw_bytes, payload)}."""

    def __init__(self, data):
        if data[:8] != b"\x89PLT\r\n\x1a\n":
            raise Damage("not a trace")
        self.data = data
        self.major, self.minor, self.header_bytes, static_bytes, crc, self.pid = struct.unpack_from("<2H4I", data, 8)
        if crc32c(data[:20] + bytes(4) + data[24:static_bytes]) != crc:
            raise Damage("the header's checksum does not hold")
        self.slot_bytes, self.slots = struct.unpack_from("<2I", data, 64)
        extents = struct.unpack_from("<I", data, 172)[0] if self.header_bytes == 4096 else 0
        self.extents = struct.unpack_from(f"<{extents}Q", data, 424)
        self.blocks = {}
        for begin in self.extents:
            for slot in range(self.slots):
                self.read_slot(begin + slot * self.slot_bytes)
        self.walk()

    def read_slot(self, at):
        if at + 192 > len(self.data) or self.data[at + 128:at + 132] != b"PLK1":
            return
        block = self.block_at(at + 128)
        if block["flags"] & 1 and block["payload"]:
            self.blocks[block["stream"], block["seq"]] = block

    def block_at(self, at):
        keys = "type flags header_bytes stream seq payload_bytes record_count first_tsc last_tsc raw_bytes crc32c".split()
        block = dict(zip(keys, struct.unpack_from("<4x2BH4I2Q2I", self.data, at)))
        begin = at + block["header_bytes"]
        block.update(offset=at, payload=self.data[begin:begin + block["payload_bytes"]])
        return block

    def walk(self):
        at = self.header_bytes
        while at + 64 <= len(self.data):
            if at in self.extents:
                at += self.slot_bytes * self.slots
                continue
            if self.data[at:at + 4] != b"PLK1":
                if any(self.data[at:at + 64]):
                    raise Damage(f"no block starts at {at}")
                at += 64
                continue
            block = self.block_at(at)
            end = at + block["header_bytes"] + block["payload_bytes"]
            if crc32c(self.data[at:at + 44] + bytes(4) + self.data[at + 48:end]) != block["crc32c"]:
                raise Damage(f"the checksum of the block at {at} does not hold")
            self.blocks[block["stream"], block["seq"]] = block
            at = (end + 63) // 64 * 64

    def lines(self):
        stream = None
        for key in sorted(self.blocks):
            block = self.blocks[key]
            if stream != key[0]:
                stream = key[0]
                yield f"stream {stream}"
            is_open = "open " if block["flags"] & 1 else ""
            yield f"block seq={block['seq']} offset={block['offset']} {is_open}@{block['first_tsc']}"
            payload = unpack(block["payload"], block["raw_bytes"]) if block["type"] == 2 else block["payload"]
            yield from Records(payload, block["first_tsc"]).lines()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        trace = Trace(file.read())
    for line in trace.lines():
        print(line)


if __name__ == "__main__":
    try:
        main()
    except Damage as damage:
        sys.exit(f"{sys.argv[1]}: {damage}")

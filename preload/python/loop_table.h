// The loops of a code object: where its backward jumps land and where they stand.
//
//   numbers (LEB128, in units of two bytes):  count, then for each loop, by its head:
//       head less the head before, tail less head
//
// A head that is reached only from the end of an exception handler is no loop: `with` and `try` put their
// handlers behind the code and jump back from there. Nor is one reached by jumps that cannot be interrupted
// (`await`, `yield from`).
//
// Knows the bytecode of CPython 3.8 to 3.13, specialised and instrumented instructions included. An instruction
// whose length cannot be told (a line-by-line debugger, another version) makes the answer empty: not known.
// Reads only inside the code object. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_PYTHON_LOOP_TABLE_H_
#define PLATEAU_PRELOAD_PYTHON_LOOP_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "preload/python/layout.h"

namespace plateau::python {

// Written to `buffer`, which the result views; empty when not known, also when it does not fit.
std::string_view LoopsOf(const Layout& layout, const void* code, char* buffer, size_t capacity);

// The same of `units` instructions of two bytes, of version 3.`minor`.
std::string_view FindLoops(unsigned minor, const uint8_t* code, size_t units, char* buffer, size_t capacity);

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_LOOP_TABLE_H_

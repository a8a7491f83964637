// Which native memory has the address of a target that no object of Python holds.
//
//   live recorded blocks below 64 KiB   -> native block, made at a stack that the trace knows
//   writable data of modules            -> a variable of that module
//
// Other memory is not looked at: what lies in freed memory or on a stack may be left over, and would name the wrong owner.
// So an address that is found nowhere is not called unreachable. Blocks are read through the kernel, because another thread
// may free them meanwhile. Call with the interpreter's lock held. Allocates: from the walk's memory.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_NATIVE_NATIVE_SEARCH_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_NATIVE_NATIVE_SEARCH_H_

#include <cstdint>

#include "preload/python/holders/tables/target_table.h"
#include "preload/python/holders/tables/walk_clock.h"
#include "preload/python/holders/tables/walk_memory.h"

namespace plateau::python::holders {

void SearchNativeMemory(WalkMemory* memory, TargetTable* targets, WalkClock* clock);

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_NATIVE_NATIVE_SEARCH_H_

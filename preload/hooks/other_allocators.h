// Another allocator in the process: preloaded, linked, or brought along by a library.
//
// jemalloc, tcmalloc and mimalloc define operator new and calls of their own that do not come through malloc.
// Where a loaded object exports them, the words through which other objects call it are made to point at our
// hooks, which call the real functions. A process without such an allocator is left as it is.
//
// Allocates: never. Locks: the loader's list. errno: kept.
#ifndef PLATEAU_PRELOAD_HOOKS_OTHER_ALLOCATORS_H_
#define PLATEAU_PRELOAD_HOOKS_OTHER_ALLOCATORS_H_

#include <cstddef>

#include "preload/recorder/parts.h"

namespace plateau {

// Looks for allocators and for objects that call them, at the start and whenever objects were loaded since.
extern const Part kAllocatorsPart;

// What was found: the file of the first such allocator, "" when there is none, and how many calls were
// hooked.
const char* OtherAllocatorPath();
size_t OtherAllocatorSlots();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_HOOKS_OTHER_ALLOCATORS_H_

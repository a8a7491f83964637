// Pages straight from the kernel, and the question whether an address can be read.
//
// Uses raw system calls, so neither the traced program's errno nor an interposed mmap is touched.
// Allocates: mapped pages only. Locks: never. Safe in signal handlers.
#ifndef PLATEAU_PRELOAD_BASE_RAW_MEMORY_H_
#define PLATEAU_PRELOAD_BASE_RAW_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace plateau::unwind {

inline constexpr uintptr_t kPageBytes = 4096;

// Zeroed private memory that costs nothing but address space until it is touched. Null when the kernel
// refuses.
void* MapZeroed(size_t bytes);

// Gives whole pages back; they read as zero afterwards, also when the kernel does not take them.
void DropPages(void* begin, size_t bytes);

// Whether the 8 bytes at `address` (aligned to 8) can be read. One system call, about 150 ns.
bool IsReadable(uintptr_t address);

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_BASE_RAW_MEMORY_H_

// Which file's mapping holds an address of code, as the kernel tells it in /proc/self/maps.
//
// This is how a library is found that was loaded a moment ago when the C library cannot tell without its lock. Reads a
// file of the kernel (about a millisecond in a process with thousands of maps), so callers remember the answer, also
// when it is "none". Safe in signal handlers. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_BASE_MAPPED_CODE_H_
#define PLATEAU_PRELOAD_BASE_MAPPED_CODE_H_

#include <cstddef>
#include <cstdint>

namespace plateau {

struct MappedCode {
  static constexpr size_t kMaxPath = 1024;

  // The mapping that holds the address; both 0 when none does.
  uintptr_t begin = 0;
  uintptr_t end = 0;
  // Where the first byte of the same file is mapped, readable and below the address. 0: the address is no code of a
  // file, or the beginning of the file is not mapped.
  uintptr_t file_begin = 0;
  char path[kMaxPath] = {};  // of that file, cut when it is longer
};

// `*found` is large: it belongs into static storage, not onto the stack of a signal handler. False when the maps could
// not be read.
bool FindMappedCode(uintptr_t address, MappedCode* found, const char* maps_file = "/proc/self/maps");

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_MAPPED_CODE_H_

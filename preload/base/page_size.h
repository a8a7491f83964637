// The kernel's page: 4 KiB on x86-64; 4, 16 or 64 KiB on AArch64.
//
// What is only asked ("can this be read") may go by 4 KiB, which divides them all (unwind::kPageBytes). Whoever maps a
// file, protects, gives back or counts pages needs the real one. Safe everywhere.
#ifndef PLATEAU_PRELOAD_BASE_PAGE_SIZE_H_
#define PLATEAU_PRELOAD_BASE_PAGE_SIZE_H_

#include <sys/auxv.h>

#include <cstdint>

namespace plateau {

#if defined(__x86_64__)
inline constexpr uint64_t kLargestPageBytes = 4096;
constexpr uint64_t PageBytes() { return 4096; }
#else
inline constexpr uint64_t kLargestPageBytes = 65536;
inline uint64_t PageBytes() {
  const uint64_t bytes = getauxval(AT_PAGESZ);
  return bytes >= 4096 && bytes <= kLargestPageBytes && (bytes & (bytes - 1)) == 0 ? bytes
                                                                                   : kLargestPageBytes;
}
#endif

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_PAGE_SIZE_H_

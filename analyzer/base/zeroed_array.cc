#include "analyzer/base/zeroed_array.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace plateau {
namespace {

constexpr size_t kHugePageBytes = 2 << 20;

size_t Rounded(size_t bytes) { return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes; }

}  // namespace

void* AllocateZeroed(size_t bytes) {
  if (bytes < kHugePageBytes) {
    void* memory = std::calloc(1, bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  // One page more than needed, so that an aligned stretch is in it; what lies around it goes back.
  const size_t size = Rounded(bytes);
  void* const mapped = mmap(nullptr, size + kHugePageBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const uintptr_t begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = Rounded(begin);
  if (aligned > begin) munmap(mapped, aligned - begin);
  if (const size_t behind = begin + kHugePageBytes - aligned; behind > 0) {
    munmap(reinterpret_cast<void*>(aligned + size), behind);
  }
  void* const memory = reinterpret_cast<void*>(aligned);
  madvise(memory, size, MADV_HUGEPAGE);  // without it the table is slower, nothing else
  return memory;
}

void AdviseHugePages(void* memory, size_t bytes) {
  if (bytes < 2 * kHugePageBytes) return;
  const uintptr_t begin = Rounded(reinterpret_cast<uintptr_t>(memory));
  const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / kHugePageBytes * kHugePageBytes;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

void FreeZeroed(void* memory, size_t bytes) {
  if (bytes < kHugePageBytes) return std::free(memory);
  munmap(memory, Rounded(bytes));
}

}  // namespace plateau

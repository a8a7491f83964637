#include "analyzer/base/zeroed_array.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace plateau {
namespace {

// Arrays of this size or more are mapped: only pages that are touched take memory.
constexpr size_t kMappedBytes = 256 << 10;

}  // namespace

void* AllocateZeroed(size_t bytes) {
  if (bytes < kMappedBytes) {
    void* memory = std::calloc(1, bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

void FreeZeroed(void* memory, size_t bytes) {
  if (bytes < kMappedBytes) return std::free(memory);
  munmap(memory, bytes);
}

}  // namespace plateau

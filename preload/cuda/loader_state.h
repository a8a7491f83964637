// Caches of pointers into libraries that may be unloaded under us.
//
// The loader counts unloads; a pointer is kept together with the count at which it was found and is good only
// while that count stands.
//
// Allocates: never. Locks: the loader's list lock, briefly. Throws: never.
#ifndef PLATEAU_PRELOAD_CUDA_LOADER_STATE_H_
#define PLATEAU_PRELOAD_CUDA_LOADER_STATE_H_

#include <stdint.h>

#include <atomic>

namespace plateau::cuda {

// How many objects have been unloaded since the process began.
uint64_t UnloadCount();

// True if `address` belongs to the object this code is linked into.
bool IsOurs(const void* address);

// True if `address` belongs to a loaded object whose file name starts with `base_name_prefix`.
bool IsInLibrary(const void* address, const char* base_name_prefix);

// A pointer and the unload count it is good for, in one word: user addresses leave 16 bits.
class UnloadAwarePointer {
 public:
  void* Get(uint64_t unloads) const {
    const uint64_t word = word_.load(std::memory_order_acquire);
    return (word >> kAddressBits) == (unloads & kCountMask) ? reinterpret_cast<void*>(word & kAddressMask)
                                                            : nullptr;
  }
  void Set(void* pointer, uint64_t unloads) {
    word_.store(((unloads & kCountMask) << kAddressBits) | reinterpret_cast<uint64_t>(pointer),
                std::memory_order_release);
  }

 private:
  static constexpr int kAddressBits = 48;
  static constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;
  static constexpr uint64_t kCountMask = 0xffff;
  std::atomic<uint64_t> word_{0};
};

}  // namespace plateau::cuda

#endif  // PLATEAU_PRELOAD_CUDA_LOADER_STATE_H_

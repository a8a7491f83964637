// Blocks that libc handed out before our constructor ran. They belong to libc whatever allocator follows, so
// their frees must go there, and they are part of the heap we report on.
//
// A table of fixed size with open addressing. Beyond kCapacity blocks nothing is remembered: their records
// are lost, and their frees still go the right way in every program whose allocator is libc's. Thread-safe by
// a spin lock. Allocates: never.
#ifndef PLATEAU_PRELOAD_RECORDER_EARLY_BLOCKS_H_
#define PLATEAU_PRELOAD_RECORDER_EARLY_BLOCKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/base/spin_lock.h"

namespace plateau {

class EarlyBlocks {
 public:
  static constexpr size_t kCapacity = 8192;

  constexpr EarlyBlocks() = default;

  void Add(const void* p, size_t bytes);
  // True when `p` is such a block; the table forgets it, and `bytes` is its size.
  bool Take(const void* p, size_t* bytes);
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  void Clear();

  template <typename Visit>
  void ForEach(Visit visit) {
    for (const Entry& entry : entries_) {
      if (entry.address != 0) visit(entry.address, entry.bytes);
    }
  }

 private:
  static constexpr size_t kSlots = 2 * kCapacity;
  struct Entry {
    uintptr_t address;  // 0: free
    size_t bytes;
  };
  static size_t Hash(uintptr_t address) { return (address >> 4) * 0x9e3779b97f4a7c15u >> 50; }
  static_assert(kSlots == size_t{1} << 14);

  // A bit says that a block was added at some time, or another one with the same hash. A large program frees
  // half a million blocks in its constructors, most of them after the table is full; this much stays in the
  // cache.
  static constexpr size_t kFilterWords = 2048;
  static uint64_t FilterBit(uintptr_t address) { return (address >> 4) * 0x9e3779b97f4a7c15u >> 47; }
  static_assert(kFilterWords * 64 == size_t{1} << 17);
  bool MayContain(uintptr_t address) const {
    const uint64_t bit = FilterBit(address);
    return (filter_[bit / 64].load(std::memory_order_relaxed) >> bit % 64 & 1) != 0;
  }

  void Remove(size_t place);

  SpinLock lock_;
  std::atomic<size_t> count_{0};
  std::atomic<uint64_t> filter_[kFilterWords] = {};
  Entry entries_[kSlots] = {};
};

extern EarlyBlocks g_early_blocks;

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_EARLY_BLOCKS_H_

// Live blocks that are not in the trace, while others that nothing else remembers are: exact mode after the size limit has
// made it a sample. The frees of all blocks from before must be recorded, and those of younger blocks that were not
// chosen need not be; without this table they were most of the trace.
//
// A table of whole addresses with one place for each: a block whose place is taken by another is forgotten, and its free
// is recorded, which tells the reader nothing and harms nobody. A free is left out only for a block that surely is not in
// the trace.
//
// Order: Note() before the pointer reaches the program, Take() before the real free and for each block that is recorded,
// so a free that was not seen leaves nothing wrong behind. Any number of threads. Locks: never. Allocates: 512 KiB from
// the arena by Start(); where the kernel refuses, nothing is noted. Constant-initialised.
#ifndef PLATEAU_PRELOAD_SAMPLER_UNRECORDED_BLOCKS_H_
#define PLATEAU_PRELOAD_SAMPLER_UNRECORDED_BLOCKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/base/arena.h"

namespace plateau {

class UnrecordedBlocks {
 public:
  static constexpr size_t kPlaces = size_t{1} << 16;

  // Any thread may; the first call counts.
  void Start() {
    if (places_.load(std::memory_order_relaxed) != nullptr) return;
    void* const memory = ArenaMap(kBytes);
    Place* expected = nullptr;
    if (memory != nullptr &&
        !places_.compare_exchange_strong(expected, static_cast<Place*>(memory), std::memory_order_acq_rel)) {
      ArenaUnmap(memory, kBytes);
    }
  }

  void Note(uintptr_t address) {
    if (Place* place = PlaceOf(address)) place->store(address, std::memory_order_relaxed);
  }

  // Whether the block at `address` was noted; it is forgotten.
  bool Take(uintptr_t address) {
    Place* place = PlaceOf(address);
    // Only who has the pointer may take it, so nobody else puts it there meanwhile.
    return place != nullptr && place->load(std::memory_order_relaxed) == address &&
           place->compare_exchange_strong(address, 0, std::memory_order_relaxed);
  }

  bool Contains(uintptr_t address) const {
    const Place* place = PlaceOf(address);
    return place != nullptr && place->load(std::memory_order_relaxed) == address;
  }

  // Forgets all blocks, when a recording begins: a table that was there before stays.
  void Clear() {
    Place* places = places_.load(std::memory_order_acquire);
    if (places == nullptr) return;
    for (size_t i = 0; i < kPlaces; ++i) places[i].store(0, std::memory_order_relaxed);
  }

 private:
  using Place = std::atomic<uintptr_t>;
  static constexpr size_t kBytes = kPlaces * sizeof(Place);

  Place* PlaceOf(uintptr_t address) const {
    Place* places = places_.load(std::memory_order_acquire);
    if (places == nullptr) return nullptr;
    return places + (((address >> 4) * 0x9e3779b97f4a7c15u) >> 48);
  }

  std::atomic<Place*> places_{nullptr};
};

inline constinit UnrecordedBlocks g_unrecorded_blocks;

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_SAMPLER_UNRECORDED_BLOCKS_H_

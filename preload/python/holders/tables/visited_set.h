// Which addresses a walk has met: one bit for 16 bytes of memory.
//
//   address >> 20 -> region, by open addressing -> 8 KiB of bits
//
// Objects take 16 bytes or more, so no two share a bit. What lies close together in the heap has its bits in one
// cache line, which a table of hashed addresses would not have; that is what makes a walk cheaper than a
// collection. One thread. Allocates: from the walk's memory.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_VISITED_SET_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_VISITED_SET_H_

#include <cstddef>
#include <cstdint>

#include "preload/python/holders/tables/walk_memory.h"

namespace plateau::python::holders {

class VisitedSet {
 public:
  explicit VisitedSet(WalkMemory* memory) : memory_(*memory) {}

  bool Initialize() {
    regions_ = memory_.TakeArray<Region>(kRegions);
    return regions_ != nullptr;
  }

  // Whether the address is new. At the end of memory everything is old, and full() is true.
  [[gnu::always_inline]] bool Insert(uintptr_t address) {
    const uintptr_t region = address >> kRegionShift;
    uint64_t* bits = region == last_region_ ? last_bits_ : BitsOf(region);
    if (bits == nullptr) [[unlikely]]
      return false;
    uint64_t& word = bits[address >> 10 & (kWords - 1)];
    const uint64_t bit = uint64_t{1} << (address >> 4 & 63);
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }

  bool Contains(uintptr_t address) {
    const uintptr_t region = address >> kRegionShift;
    if (region == last_region_)
      return (last_bits_[address >> 10 & (kWords - 1)] >> (address >> 4 & 63) & 1) != 0;
    for (size_t at = Home(region);; at = (at + 1) & (kRegions - 1)) {
      if (regions_[at].bits == nullptr) return false;
      if (regions_[at].number != region) continue;
      last_region_ = region;
      last_bits_ = regions_[at].bits;
      return (last_bits_[address >> 10 & (kWords - 1)] >> (address >> 4 & 63) & 1) != 0;
    }
  }

  bool full() const { return full_; }

 private:
  static constexpr unsigned kRegionShift = 20;
  static constexpr size_t kWords = 1024;
  static constexpr size_t kRegions = size_t{1} << 16;  // 64 GiB of heap
  static constexpr size_t kSlabRegions = 64;

  struct Region {
    uintptr_t number;
    uint64_t* bits;
  };

  static size_t Home(uintptr_t region) { return region * 0x9e3779b97f4a7c15u >> 48; }

  [[gnu::noinline]] uint64_t* BitsOf(uintptr_t region) {
    for (size_t at = Home(region);; at = (at + 1) & (kRegions - 1)) {
      Region& entry = regions_[at];
      if (entry.bits == nullptr) {
        entry.bits = NewBits();
        if (entry.bits == nullptr) {
          full_ = true;
          return nullptr;
        }
        entry.number = region;
      }
      if (entry.number != region) continue;
      last_region_ = region;
      last_bits_ = entry.bits;
      return entry.bits;
    }
  }

  uint64_t* NewBits() {
    if (region_count_ >= kRegions / 4 * 3) return nullptr;
    if (slab_left_ == 0) {
      slab_ = memory_.TakeArray<uint64_t>(kWords * kSlabRegions);
      if (slab_ == nullptr) return nullptr;
      slab_left_ = kSlabRegions;
    }
    ++region_count_;
    --slab_left_;
    uint64_t* const bits = slab_;
    slab_ += kWords;
    return bits;
  }

  WalkMemory& memory_;
  Region* regions_ = nullptr;
  uintptr_t last_region_ = UINTPTR_MAX;
  uint64_t* last_bits_ = nullptr;
  uint64_t* slab_ = nullptr;
  size_t slab_left_ = 0;
  size_t region_count_ = 0;
  bool full_ = false;
};

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_VISITED_SET_H_

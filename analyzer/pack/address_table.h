// What the packer knows of each address: the last object there, and the free that was the last one there.
//
// A hash table that grows. Its memory is the caller's, who may give it to another table later; what was in it then is
// forgotten, but not how large it had to be. Not thread-safe.
#ifndef PLATEAU_ANALYZER_PACK_ADDRESS_TABLE_H_
#define PLATEAU_ANALYZER_PACK_ADDRESS_TABLE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "analyzer/base/kept_array.h"
#include "analyzer/base/prefetch.h"

namespace plateau {

class AddressTable {
 public:
  struct Slot {
    uint64_t address;      // 0: an empty place
    uint32_t object : 31;  // 0: none
    uint32_t is_alive : 1;
    uint32_t freed;  // number of the free; 0: none
  };

  // Two tables, the second for growing, and how many slots were needed the last time.
  struct Memory {
    KeptArray<Slot> now, next;
    size_t slots = size_t{1} << 12;
  };

  explicit AddressTable(Memory* memory) : memory_(*memory) { Start(memory_.slots); }
  ~AddressTable() { memory_.slots = std::max(std::bit_ceil(2 * used_ + 2), size_t{1} << 12); }

  // Valid until the next call. What is said of address 0 is forgotten.
  Slot* At(uint64_t address) {
    if (address == 0) return &(nowhere_ = {});
    Slot* slot = Find(address);
    if (slot->address != 0) return slot;
    if (++used_ > mask_ / 2) {
      Grow();
      slot = Find(address);
    }
    slot->address = address;
    return slot;
  }

  void Prefetch(uint64_t address) const { PrefetchForWriting(&slots_[PlaceOf(address)]); }
  // The object that is probably at this address.
  uint32_t Guess(uint64_t address) const { return slots_[PlaceOf(address)].object; }

 private:
  size_t PlaceOf(uint64_t address) const { return (address * 0x9e3779b97f4a7c15u) >> 24 & mask_; }
  Slot* Find(uint64_t address) {
    size_t i = PlaceOf(address);
    while (slots_[i].address != 0 && slots_[i].address != address) i = (i + 1) & mask_;
    return &slots_[i];
  }
  void Start(size_t slots) {
    slots_ = memory_.now.Room(slots);
    mask_ = slots - 1;
    __builtin_memset(static_cast<void*>(slots_), 0, slots * sizeof(Slot));
  }
  [[gnu::noinline]] void Grow() {
    const Slot* const old = slots_;
    const size_t size = mask_ + 1;
    std::swap(memory_.now, memory_.next);
    Start(2 * size);
    constexpr size_t kAhead = 16;
    for (size_t i = 0; i < size; ++i) {
      Prefetch(old[std::min(i + kAhead, size - 1)].address);
      if (old[i].address != 0) *Find(old[i].address) = old[i];
    }
  }

  Memory& memory_;
  Slot nowhere_;
  Slot* slots_;
  size_t mask_;
  size_t used_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_ADDRESS_TABLE_H_

// What is allocated at this moment: address -> object, for tens of millions of them.
//
// Open addressing in 16 independent shards, so that growing one never copies the whole table: 24 bytes an
// object at a load of at most 5/8, because every allocation looks for an object that is not there. Deletion
// shifts the followers back, so there are no tombstones and probing stays short however long the run is.
// Pointers into the table are valid until the next FindOrAdd() or Erase(). Addresses are of user space: only
// their lower 48 bits count. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_LIVE_TABLE_H_
#define PLATEAU_ANALYZER_REPLAY_LIVE_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "analyzer/base/zeroed_array.h"

namespace plateau::replay {

enum ObjectFlags : uint8_t {
  kObjectTensor = 1,  // a torch tensor's storage
  kObjectParts = 2,   // grown by realloc: its bytes have several births, see HeapMatcher
  kObjectDoomed = 4,  // a free that came too early may be its own, see HeapMatcher
};
inline constexpr int kObjectLabelShift = 4;  // the upper four bits: label at its birth, 15 for none

struct LiveObject {
  uint64_t address : 48;  // 0: an empty slot
  uint64_t rate : 8;      // which sampling rate it was recorded at
  uint64_t flags : 8;
  uint64_t bytes;
  uint32_t stack;  // node of the trace
  uint32_t birth;  // bucket of the clock
};
static_assert(sizeof(LiveObject) == 24);

class LiveTable {
 public:
  static constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;

  LiveTable() = default;

  // nullptr when there is none.
  LiveObject* Find(uint64_t address) {
    address &= kAddressMask;
    const uint64_t hash = Hash(address);
    Shard& shard = shards_[hash >> kShardShift];
    if (shard.mask == 0 || address == 0) return nullptr;
    for (size_t i = SlotOf(hash, shard.mask);; i = (i + 1) & shard.mask) {
      if (shard.slots[i].address == address) return &shard.slots[i];
      if (shard.slots[i].address == 0) return nullptr;
    }
  }

  struct Place {
    LiveObject* object;
    bool is_new;  // then only its address is set
  };
  // The address must not be 0.
  Place FindOrAdd(uint64_t address) {
    address &= kAddressMask;
    const uint64_t hash = Hash(address);
    Shard& shard = shards_[hash >> kShardShift];
    if (shard.used >= shard.most) Grow(&shard);
    for (size_t i = SlotOf(hash, shard.mask);; i = (i + 1) & shard.mask) {
      LiveObject& slot = shard.slots[i];
      if (slot.address == address) return {&slot, false};
      if (slot.address != 0) continue;
      slot = {address, 0, 0, 0, 0, 0};
      ++shard.used;
      ++size_;
      return {&slot, true};
    }
  }

  void Erase(LiveObject* object);

  // Loads the place of an address into the cache before it is needed.
  void Prefetch(uint64_t address) const {
    const uint64_t hash = Hash(address & kAddressMask);
    const Shard& shard = shards_[hash >> kShardShift];
    if (shard.mask == 0) return;
    const LiveObject* slot = &shard.slots[SlotOf(hash, shard.mask)];
    __builtin_prefetch(slot, 1);
    __builtin_prefetch(reinterpret_cast<const char*>(slot + 2), 1);  // its followers
  }

  size_t size() const { return size_; }
  size_t capacity_bytes() const;

  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const Shard& shard : shards_) {
      if (shard.mask == 0) continue;
      for (size_t i = 0; i <= shard.mask; ++i) {
        if (shard.slots[i].address != 0) visit(shard.slots[i]);
      }
    }
  }

 private:
  static constexpr int kShardShift = 60;

  struct Shard {
    ZeroedArray<LiveObject> slots;
    size_t mask = 0;  // slots - 1; 0: not allocated yet
    size_t used = 0;
    size_t most = 0;  // objects it takes before it grows
  };

  // The top bits choose the shard, bits from 16 on the slot. Two rounds, because heap addresses are regular.
  static uint64_t Hash(uint64_t address) {
    uint64_t h = address * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
    return h * 0xd6e8feb86659fd93u;
  }
  static size_t SlotOf(uint64_t hash, size_t mask) { return (hash >> 16) & mask; }
  static void Grow(Shard* shard);

  std::array<Shard, 16> shards_;
  size_t size_ = 0;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_LIVE_TABLE_H_

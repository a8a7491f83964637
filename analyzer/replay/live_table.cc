#include "analyzer/replay/live_table.h"

#include <cassert>

namespace plateau::replay {

LiveObject* LiveTable::Find(uint64_t address) {
  const uint64_t hash = Hash(address);
  Shard& shard = shards_[hash >> 56];
  if (shard.mask == 0 || address == 0) return nullptr;
  for (size_t i = SlotOf(hash, shard.mask);; i = (i + 1) & shard.mask) {
    if (shard.slots[i].address == address) return &shard.slots[i];
    if (shard.slots[i].address == 0) return nullptr;
  }
}

void LiveTable::Place(Shard* shard, const LiveObject& object) {
  size_t i = SlotOf(Hash(object.address), shard->mask);
  while (shard->slots[i].address != 0) i = (i + 1) & shard->mask;
  shard->slots[i] = object;
}

void LiveTable::Grow(Shard* shard) {
  const size_t old_slots = shard->mask == 0 ? 0 : shard->mask + 1;
  const size_t new_slots = old_slots == 0 ? 16 : 2 * old_slots;
  std::unique_ptr<LiveObject[]> old = std::move(shard->slots);
  shard->slots = std::make_unique<LiveObject[]>(new_slots);
  shard->mask = new_slots - 1;
  for (size_t i = 0; i < old_slots; ++i) {
    if (old[i].address != 0) Place(shard, old[i]);
  }
}

void LiveTable::Insert(const LiveObject& object) {
  assert(object.address != 0);
  Shard& shard = shards_[Hash(object.address) >> 56];
  if (shard.mask == 0 || shard.used * 8 >= (shard.mask + 1) * 5) Grow(&shard);
  Place(&shard, object);
  ++shard.used;
  ++size_;
}

void LiveTable::Erase(LiveObject* object) {
  Shard& shard = shards_[Hash(object->address) >> 56];
  size_t hole = static_cast<size_t>(object - shard.slots.get());
  for (size_t i = hole;;) {
    i = (i + 1) & shard.mask;
    const LiveObject& next = shard.slots[i];
    if (next.address == 0) break;
    // `next` may move into the hole unless its own place lies behind the hole.
    const size_t home = SlotOf(Hash(next.address), shard.mask);
    if (((i - home) & shard.mask) < ((i - hole) & shard.mask)) continue;
    shard.slots[hole] = next;
    hole = i;
  }
  shard.slots[hole] = LiveObject{};
  --shard.used;
  --size_;
}

size_t LiveTable::capacity_bytes() const {
  size_t bytes = 0;
  for (const Shard& shard : shards_) bytes += shard.mask == 0 ? 0 : (shard.mask + 1) * sizeof(LiveObject);
  return bytes;
}

}  // namespace plateau::replay

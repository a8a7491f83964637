#include "analyzer/replay/live_table.h"

#include <utility>

namespace plateau::replay {

void LiveTable::Grow(Shard* shard) {
  constexpr size_t kFewestSlots = 256;
  const size_t old_slots = shard->slots.size();
  const size_t new_slots = old_slots == 0 ? kFewestSlots : 2 * old_slots;
  const ZeroedArray<LiveObject> old = std::exchange(shard->slots, ZeroedArray<LiveObject>(new_slots));
  shard->mask = new_slots - 1;
  shard->most = new_slots / 8 * 5;
  for (size_t k = 0; k < old_slots; ++k) {
    if (old[k].address == 0) continue;
    size_t i = SlotOf(Hash(old[k].address), shard->mask);
    while (shard->slots[i].address != 0) i = (i + 1) & shard->mask;
    shard->slots[i] = old[k];
  }
}

void LiveTable::Erase(LiveObject* object) {
  Shard& shard = shards_[Hash(object->address) >> kShardShift];
  size_t hole = static_cast<size_t>(object - shard.slots.data());
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
  for (const Shard& shard : shards_) bytes += shard.slots.size() * sizeof(LiveObject);
  return bytes;
}

}  // namespace plateau::replay

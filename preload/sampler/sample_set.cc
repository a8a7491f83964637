#include "preload/sampler/sample_set.h"

#include <type_traits>

#include "preload/base/arena.h"

namespace plateau {
namespace {

constexpr size_t kFirstCapacity = 128;  // less than a page

}  // namespace

constinit SampleSet g_sample_set;
static_assert(std::is_trivially_destructible_v<SampleSet>);

SampleSet::Entry* SampleSet::Find(Shard& shard, uintptr_t address) {
  if (shard.capacity == 0) return nullptr;
  for (size_t i = Home(shard, address);; i = (i + 1) & (shard.capacity - 1)) {
    if (shard.entries[i].address == address) return &shard.entries[i];
    if (shard.entries[i].address == 0) return nullptr;
  }
}

bool SampleSet::Grow(Shard& shard) {
  const size_t capacity = shard.capacity == 0 ? kFirstCapacity : shard.capacity * 2;
  auto* entries = static_cast<Entry*>(ArenaMap(capacity * sizeof(Entry)));
  if (entries == nullptr) return false;
  const Shard old = {{}, shard.entries, shard.capacity, 0};
  shard.entries = entries;
  shard.capacity = capacity;
  for (size_t i = 0; i < old.capacity; ++i) {
    if (old.entries[i].address == 0) continue;
    size_t at = Home(shard, old.entries[i].address);
    while (entries[at].address != 0) at = (at + 1) & (capacity - 1);
    entries[at] = old.entries[i];
  }
  if (old.entries != nullptr) ArenaUnmap(old.entries, old.capacity * sizeof(Entry));
  return true;
}

bool SampleSet::Insert(uintptr_t address, const SampledBlock& sample) {
  Shard& shard = ShardOf(address);
  SpinLockHolder holder(shard.lock);
  if (!holder) return false;
  if (Entry* known = Find(shard, address)) {  // the address was given out again, and its free was never seen
    known->sample = sample;
    return true;
  }
  if (shard.count * 8 >= shard.capacity * 5 && !Grow(shard)) return false;
  size_t at = Home(shard, address);
  while (shard.entries[at].address != 0) at = (at + 1) & (shard.capacity - 1);
  shard.entries[at] = {address, sample};
  ++shard.count;
  filter_.Count(address);
  return true;
}

// Closes the hole by moving later entries of the same run forward, so that no tombstones pile up.
void SampleSet::Remove(Shard& shard, Entry* entry) {
  const size_t mask = shard.capacity - 1;
  size_t hole = static_cast<size_t>(entry - shard.entries);
  for (size_t i = (hole + 1) & mask; shard.entries[i].address != 0; i = (i + 1) & mask) {
    const size_t home = Home(shard, shard.entries[i].address);
    if (((i - home) & mask) >= ((i - hole) & mask)) {
      shard.entries[hole] = shard.entries[i];
      hole = i;
    }
  }
  shard.entries[hole].address = 0;
  --shard.count;
}

bool SampleSet::Erase(uintptr_t address, SampledBlock* sample) {
  Shard& shard = ShardOf(address);
  SpinLockHolder holder(shard.lock);
  if (!holder) return false;
  Entry* entry = Find(shard, address);
  if (entry == nullptr) return false;
  *sample = entry->sample;
  Remove(shard, entry);
  filter_.Uncount(address);
  return true;
}

bool SampleSet::Contains(uintptr_t address) {
  if (!MayContain(address)) return false;
  Shard& shard = ShardOf(address);
  SpinLockHolder holder(shard.lock);
  return holder && Find(shard, address) != nullptr;
}

size_t SampleSet::size() const {
  size_t sum = 0;
  for (const Shard& shard : shards_) sum += shard.count;
  return sum;
}

void SampleSet::Clear() {
  filter_.Clear();
  for (Shard& shard : shards_) {
    shard.lock.Release();
    if (shard.entries != nullptr) ArenaUnmap(shard.entries, shard.capacity * sizeof(Entry));
    shard.entries = nullptr;
    shard.capacity = 0;
    shard.count = 0;
  }
}

void SampleSet::ResetInChild() { Clear(); }

}  // namespace plateau

// The live blocks that are in the trace, in default mode: what free() asks about every pointer.
//
//   free(p):  not in the filter         -> not sampled, 1 ns, the usual case
//             else look into the table  -> size and stack, and out of the set
//
// The table is sharded, each shard open addressing with its own lock and growth, from our own pages.
//
// Order: Insert() before the pointer reaches the program, Erase() before the real free, so no other thread
// can meet the same address in between. Locks: one shard's, for a bounded time; when it stays busy the call
// returns false and the caller counts a drop. Allocates: never from the traced heap.
#ifndef PLATEAU_PRELOAD_SAMPLER_SAMPLE_SET_H_
#define PLATEAU_PRELOAD_SAMPLER_SAMPLE_SET_H_

#include <cstddef>
#include <cstdint>

#include "preload/base/spin_lock.h"
#include "preload/sampler/sample_filter.h"

namespace plateau {

// What is known of a member. Its FREE needs the bytes; the totals need all of it, when its allocation is no
// event any more.
struct SampledBlock {
  uint64_t bytes;
  uint32_t stack;
  uint32_t rate_level;  // how often the rate had been made coarser when it was chosen
};

class SampleSet {
 public:
  static constexpr size_t kShards = 16;

  constexpr SampleSet() = default;

  bool MayContain(uintptr_t address) const { return filter_.MayContain(address); }

  bool Insert(uintptr_t address, const SampledBlock& sample);
  // True when the block was a member; `sample` is what Insert() was given.
  bool Erase(uintptr_t address, SampledBlock* sample);
  bool Contains(uintptr_t address);

  // Calls visit(address, sample) for the members, a few at a time under a shard's lock: `visit` must be short and may
  // not come back here. What comes or goes meanwhile may be seen, missed, or seen twice.
  template <typename Visit>
  void ForEach(Visit visit) {
    constexpr size_t kEntriesPerLock = 512;
    for (Shard& shard : shards_) {
      for (size_t at = 0;; at += kEntriesPerLock) {
        SpinLockHolder holder(shard.lock);
        if (!holder || at >= shard.capacity) break;
        for (size_t i = at; i < at + kEntriesPerLock && i < shard.capacity; ++i) {
          if (shard.entries[i].address != 0) visit(shard.entries[i].address, shard.entries[i].sample);
        }
      }
    }
  }

  // Sends the frees of `address` to the slow path, without making it a member.
  void Watch(uintptr_t address) { filter_.Count(address); }
  void Unwatch(uintptr_t address) { filter_.Uncount(address); }

  // The filter alone, for code that asks MayContain() and must not call into this class.
  const SampleFilter* filter() const { return &filter_; }

  size_t size() const;
  // Only where no other thread uses the set: the child of a fork, or before recording begins.
  void Clear();
  void ResetInChild();

 private:
  struct Entry {
    uintptr_t address;  // 0: free
    SampledBlock sample;
  };
  struct alignas(64) Shard {
    SpinLock lock;
    Entry* entries = nullptr;
    size_t capacity = 0;  // a power of two
    size_t count = 0;
  };

  static constexpr uint64_t Hash(uintptr_t address) { return (address >> 4) * 0x9e3779b97f4a7c15u; }
  Shard& ShardOf(uintptr_t address) { return shards_[(Hash(address) >> 20) % kShards]; }
  static size_t Home(const Shard& shard, uintptr_t address) {
    return (Hash(address) >> 24) & (shard.capacity - 1);
  }
  static Entry* Find(Shard& shard, uintptr_t address);
  static bool Grow(Shard& shard);
  static void Remove(Shard& shard, Entry* entry);

  SampleFilter filter_;
  alignas(4096) Shard shards_[kShards] = {};
};

extern SampleSet g_sample_set;

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_SAMPLER_SAMPLE_SET_H_

// (parent node, location) -> node, remembered for the most used pairs of the process.
//
// 2^16 sets of 4 entries of 16 bytes: 4 MiB, reserved and touched where used. A set is one cache line. A hit
// moves its entry one place forward, a new pair replaces the last place, so hot inner nodes outlive one-off
// leaves. A forgotten pair costs a second definition of the same node, which the reader merges: the cache may
// lose, it never lies. To keep that true without locks, an entry is two words, key ^ mix(id) and id, and a
// torn pair does not match any key. Allocates: maps its memory once. Locks: never.
#ifndef PLATEAU_PRELOAD_UNWIND_INTERN_CACHE_H_
#define PLATEAU_PRELOAD_UNWIND_INTERN_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plateau::unwind {

class InternCache {
 public:
  static constexpr unsigned kDefaultLog2Entries = 18;
  static constexpr unsigned kWays = 4;

  constexpr InternCache() = default;
  InternCache(const InternCache&) = delete;
  InternCache& operator=(const InternCache&) = delete;

  // False when the kernel refuses the memory: Find() then returns 0 and Insert() does nothing.
  bool Initialize(unsigned log2_entries = kDefaultLog2Entries);

  static constexpr uint64_t Key(uint32_t parent, uint32_t location) {
    return (uint64_t{parent} << 32) | location;
  }

  // The node remembered for `key`, or 0. Location 0 does not exist, so no key is 0.
  uint32_t Find(uint64_t key) {
    Set* set = SetOf(key);
    if (set == nullptr) [[unlikely]]
      return 0;
    for (unsigned way = 0; way < kWays; ++way) {
      const uint64_t id = set->ways[way].id.load(std::memory_order_relaxed);
      const uint64_t check = set->ways[way].check.load(std::memory_order_relaxed);
      if (id != 0 && (check ^ Mix(id)) == key) {
        if (way != 0) Promote(set, way, key, id);
        return static_cast<uint32_t>(id);
      }
    }
    return 0;
  }

  // Remembers a pair that Find() did not know. The definition of `node` must have been written.
  void Insert(uint64_t key, uint32_t node);

  // Empties the cache: only where no other thread can be using it, as in the child of a fork.
  void Clear();

 private:
  struct Entry {
    std::atomic<uint64_t> check;
    std::atomic<uint64_t> id;
  };
  struct alignas(64) Set {
    Entry ways[kWays];
  };
  static_assert(sizeof(Set) == 64);

  static uint64_t Mix(uint64_t id) { return id * 0xD6E8FEB86659FD93u; }

  Set* SetOf(uint64_t key) {
    Set* sets = sets_.load(std::memory_order_acquire);
    return sets == nullptr ? nullptr : sets + ((key * 0x9E3779B97F4A7C15u) >> shift_);
  }

  static void Store(Entry* entry, uint64_t key, uint64_t id) {
    entry->check.store(key ^ Mix(id), std::memory_order_relaxed);
    entry->id.store(id, std::memory_order_release);
  }

  static void Promote(Set* set, unsigned way, uint64_t key, uint64_t id);

  std::atomic<Set*> sets_{nullptr};
  unsigned shift_ = 0;
};

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_INTERN_CACHE_H_

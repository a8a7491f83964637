// (parent node, location) -> node, remembered for the most used pairs of the process.
//
// Sets of 4 entries of 16 bytes, 64 KiB at first; four times as much whenever it is half full, up to a limit.
// Pairs are scattered, so a table that is too large would touch a page for each. A set is one cache line. A
// hit moves its entry one place forward, a new pair replaces the last place, so hot inner nodes outlive
// one-off leaves. A forgotten pair costs a second definition of the same node, which the reader merges: the
// cache may lose, it never lies. To keep that true without locks, an entry is two words, key ^ mix(id) and
// id, and a torn pair does not match any key. A thread that writes to the old table while another makes the
// new one loses a pair. Allocates: maps its tables; old ones stay as address space. Locks: never.
#ifndef PLATEAU_PRELOAD_UNWIND_INTERN_CACHE_H_
#define PLATEAU_PRELOAD_UNWIND_INTERN_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plateau::unwind {

class InternCache {
 public:
  static constexpr unsigned kDefaultLog2Entries = 18;
  static constexpr unsigned kFirstLog2Entries = 12;
  static constexpr unsigned kWays = 4;

  constexpr InternCache() = default;
  InternCache(const InternCache&) = delete;
  InternCache& operator=(const InternCache&) = delete;

  // `log2_entries` is what it grows to. False when the kernel refuses the memory: Find() then returns 0 and
  // Insert() does nothing.
  bool Initialize(unsigned log2_entries = kDefaultLog2Entries);

  static constexpr uint64_t Key(uint32_t parent, uint32_t location) {
    return (uint64_t{parent} << 32) | location;
  }

  // The node remembered for `key`, or 0. Location 0 does not exist, so no key is 0. Without `promotes`
  // nothing is written: threads that look for neighbours all the time then share the line instead of fighting
  // over it.
  uint32_t Find(uint64_t key, bool promotes = true) {
    const uintptr_t table = table_.load(std::memory_order_acquire);
    if (table == 0) [[unlikely]]
      return 0;
    Set* set = SetOf(table, key);
    for (unsigned way = 0; way < kWays; ++way) {
      const uint64_t id = set->ways[way].id.load(std::memory_order_relaxed);
      const uint64_t check = set->ways[way].check.load(std::memory_order_relaxed);
      if (id != 0 && (check ^ Mix(id)) == key) {
        if (way != 0 && promotes) Promote(set, way, key, id);
        return static_cast<uint32_t>(id);
      }
    }
    return 0;
  }

  // Remembers a pair that Find() did not know. The definition of `node` must have been written.
  void Insert(uint64_t key, uint32_t node);

  // Empties the cache: only where no other thread can be using it, as in the child of a fork.
  void Clear();

  size_t mapped_bytes() const { return BytesOf(table_.load(std::memory_order_relaxed)); }

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

  // A table is where its sets are, a multiple of 64, plus by how much a hash is shifted to number them.
  static Set* SetsOf(uintptr_t table) { return reinterpret_cast<Set*>(table & ~kShiftMask); }
  static Set* SetOf(uintptr_t table, uint64_t key) {
    return SetsOf(table) + ((key * 0x9E3779B97F4A7C15u) >> (table & kShiftMask));
  }
  static size_t CountOf(uintptr_t table) { return table == 0 ? 0 : size_t{1} << (64 - (table & kShiftMask)); }
  static size_t BytesOf(uintptr_t table) { return CountOf(table) * sizeof(Set); }
  static uintptr_t MapTable(unsigned log2_entries);
  static void Put(uintptr_t table, uint64_t key, uint64_t id);
  void Grow(uintptr_t table);

  static void Store(Entry* entry, uint64_t key, uint64_t id) {
    entry->check.store(key ^ Mix(id), std::memory_order_relaxed);
    entry->id.store(id, std::memory_order_release);
  }

  static void Promote(Set* set, unsigned way, uint64_t key, uint64_t id);

  static constexpr uintptr_t kShiftMask = sizeof(Set) - 1;

  std::atomic<uintptr_t> table_{0};
  std::atomic<size_t> inserted_{0};  // so far, in all tables
  std::atomic<bool> growing_{false};
  unsigned log2_entries_ = 0;
};

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_INTERN_CACHE_H_

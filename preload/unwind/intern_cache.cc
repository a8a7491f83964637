#include "preload/unwind/intern_cache.h"

#include "preload/base/raw_memory.h"

namespace plateau::unwind {
namespace {

constexpr unsigned kLog2Ways = 2;
constexpr unsigned kLog2Growth = 2;

}  // namespace

uintptr_t InternCache::MapTable(unsigned log2_entries) {
  static_assert(kWays == 1u << kLog2Ways);
  const unsigned log2_sets = log2_entries - kLog2Ways;
  const auto sets = reinterpret_cast<uintptr_t>(MapZeroed((size_t{1} << log2_sets) * sizeof(Set)));
  return sets == 0 ? 0 : sets + (64 - log2_sets);
}

bool InternCache::Initialize(unsigned log2_entries) {
  log2_entries_ = log2_entries;
  const unsigned first = log2_entries < kFirstLog2Entries ? log2_entries : kFirstLog2Entries;
  table_.store(MapTable(first), std::memory_order_release);
  return table_.load(std::memory_order_relaxed) != 0;
}

void InternCache::Promote(Set* set, unsigned way, uint64_t key, uint64_t id) {
  Entry& ahead = set->ways[way - 1];
  const uint64_t ahead_id = ahead.id.load(std::memory_order_relaxed);
  const uint64_t ahead_check = ahead.check.load(std::memory_order_relaxed);
  // Copied as found: if it was torn, it stays unmatched where it lands.
  set->ways[way].check.store(ahead_check, std::memory_order_relaxed);
  set->ways[way].id.store(ahead_id, std::memory_order_relaxed);
  Store(&ahead, key, id);
}

void InternCache::Put(uintptr_t table, uint64_t key, uint64_t id) {
  Set* set = SetOf(table, key);
  unsigned way = 0;
  while (way < kWays - 1 && set->ways[way].id.load(std::memory_order_relaxed) != 0) ++way;
  Store(&set->ways[way], key, id);
}

void InternCache::Insert(uint64_t key, uint32_t node) {
  const uintptr_t table = table_.load(std::memory_order_acquire);
  if (table == 0) return;
  Put(table, key, node);
  const size_t entries = CountOf(table) * kWays;
  if (inserted_.fetch_add(1, std::memory_order_relaxed) < entries / 2) return;
  if (entries < size_t{1} << log2_entries_) Grow(table);
}

// One thread grows, the others go on with the old table.
void InternCache::Grow(uintptr_t table) {
  if (growing_.exchange(true, std::memory_order_acquire)) return;
  if (table_.load(std::memory_order_relaxed) == table) {
    unsigned log2_entries = 64 - static_cast<unsigned>(table & kShiftMask) + kLog2Ways + kLog2Growth;
    if (log2_entries > log2_entries_) log2_entries = log2_entries_;
    const uintptr_t larger = MapTable(log2_entries);
    if (larger == 0) return;  // and nobody tries again
    const Set* sets = SetsOf(table);
    for (size_t i = 0; i < CountOf(table); ++i) {
      for (const Entry& entry : sets[i].ways) {
        const uint64_t id = entry.id.load(std::memory_order_acquire);
        if (id != 0) Put(larger, entry.check.load(std::memory_order_relaxed) ^ Mix(id), id);
      }
    }
    table_.store(larger, std::memory_order_release);
    // Whoever still looks into it finds nothing there.
    DropPages(SetsOf(table), BytesOf(table));
  }
  growing_.store(false, std::memory_order_release);
}

void InternCache::Clear() {
  const uintptr_t table = table_.load(std::memory_order_acquire);
  if (table != 0) DropPages(SetsOf(table), BytesOf(table));
  inserted_.store(0, std::memory_order_relaxed);
  growing_.store(false, std::memory_order_relaxed);
}

}  // namespace plateau::unwind

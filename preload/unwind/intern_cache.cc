#include "preload/unwind/intern_cache.h"

#include "preload/unwind/raw_memory.h"

namespace plateau::unwind {

bool InternCache::Initialize(unsigned log2_entries) {
  constexpr unsigned kLog2Ways = 2;
  static_assert(kWays == 1u << kLog2Ways);
  shift_ = 64 - (log2_entries - kLog2Ways);
  sets_.store(static_cast<Set*>(MapZeroed((size_t{1} << (log2_entries - kLog2Ways)) * sizeof(Set))),
              std::memory_order_release);
  return sets_.load(std::memory_order_relaxed) != nullptr;
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

void InternCache::Insert(uint64_t key, uint32_t node) {
  Set* set = SetOf(key);
  if (set == nullptr) return;
  unsigned way = 0;
  while (way < kWays - 1 && set->ways[way].id.load(std::memory_order_relaxed) != 0) ++way;
  Store(&set->ways[way], key, node);
}

void InternCache::Clear() {
  Set* sets = sets_.load(std::memory_order_acquire);
  if (sets != nullptr) DropPages(sets, (size_t{1} << (64 - shift_)) * sizeof(Set));
}

}  // namespace plateau::unwind

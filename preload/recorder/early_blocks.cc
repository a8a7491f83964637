#include "preload/recorder/early_blocks.h"

#include <cstring>

namespace plateau {

constinit EarlyBlocks g_early_blocks;

void EarlyBlocks::Add(const void* p, size_t bytes) {
  SpinLockHolder holder(lock_);
  if (!holder || count_.load(std::memory_order_relaxed) >= kCapacity) return;
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  filter_[FilterBit(address) / 64].fetch_or(uint64_t{1} << FilterBit(address) % 64,
                                            std::memory_order_relaxed);
  for (size_t i = Hash(address);; ++i) {
    Entry& entry = entries_[i % kSlots];
    if (entry.address != 0 && entry.address != address) continue;
    if (entry.address != address) count_.fetch_add(1, std::memory_order_relaxed);
    entry = {address, bytes};
    return;
  }
}

// Fills the hole with entries that were put further on because this place was taken. So a search ends at a
// free place soon, however many blocks have come and gone.
void EarlyBlocks::Remove(size_t place) {
  size_t hole = place;
  for (size_t i = place + 1; entries_[i % kSlots].address != 0; ++i) {
    const Entry& entry = entries_[i % kSlots];
    if ((i - Hash(entry.address)) % kSlots < i - hole)
      continue;  // it would come before the place that its hash says
    entries_[hole % kSlots] = entry;
    hole = i;
  }
  entries_[hole % kSlots] = {};
}

bool EarlyBlocks::Take(const void* p, size_t* bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  if (empty() || !MayContain(address)) return false;
  SpinLockHolder holder(lock_);
  if (!holder) return false;
  size_t i = Hash(address);
  for (size_t probes = 0; probes < kSlots; ++probes, ++i) {
    Entry& entry = entries_[i % kSlots];
    if (entry.address == 0) return false;
    if (entry.address != address) continue;
    *bytes = entry.bytes;
    Remove(i);
    count_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

void EarlyBlocks::Clear() {
  SpinLockHolder holder(lock_);
  if (count_.load(std::memory_order_relaxed) == 0) return;
  std::memset(static_cast<void*>(entries_), 0, sizeof(entries_));
  for (std::atomic<uint64_t>& word : filter_) word.store(0, std::memory_order_relaxed);
  count_.store(0, std::memory_order_relaxed);
}

}  // namespace plateau

#include "preload/recorder/file/slot_pool.h"

#include <cstring>
#include <type_traits>

namespace plateau {

constinit SlotPool g_slots;
static_assert(std::is_trivially_destructible_v<SlotPool>);

trace::SlotHeader* SlotPool::ClaimIn(uint32_t extent, TraceSink* sink) {
  uint32_t used = in_use_[extent].load(std::memory_order_relaxed);
  while (used != kAllUsed) {
    const uint32_t index = static_cast<uint32_t>(__builtin_ctz(~used));
    const uint32_t bit = 1u << index;
    if (!in_use_[extent].compare_exchange_weak(used, used | bit, std::memory_order_acquire)) continue;
    trace::SlotHeader* slot = SlotAt(extent, index);
    if (reserved_[extent].load(std::memory_order_relaxed) & bit) return slot;
    if (!sink->ReserveSlot(reinterpret_cast<uint8_t*>(slot))) {
      in_use_[extent].fetch_and(~bit, std::memory_order_release);
      return nullptr;
    }
    reserved_[extent].fetch_or(bit, std::memory_order_relaxed);
    return slot;
  }
  return nullptr;
}

trace::SlotHeader* SlotPool::Claim(TraceSink* sink) {
  const auto search = [this, sink]() -> trace::SlotHeader* {
    const uint32_t count = extent_count_.load(std::memory_order_acquire);
    for (uint32_t e = 0; e < count; ++e) {
      if (trace::SlotHeader* slot = ClaimIn(e, sink)) return slot;
    }
    return nullptr;
  };
  if (trace::SlotHeader* slot = search()) return slot;
  SpinLockHolder holder(growth_lock_);
  if (!holder) return nullptr;
  if (trace::SlotHeader* slot = search()) return slot;  // somebody added an extent while we waited
  const uint32_t count = extent_count_.load(std::memory_order_relaxed);
  if (count == trace::kMaxExtents) return nullptr;
  uint8_t* memory = sink->AddExtent();
  if (memory == nullptr) return nullptr;
  memory_[count] = memory;
  in_use_[count].store(0, std::memory_order_relaxed);
  reserved_[count].store(0, std::memory_order_relaxed);
  extent_count_.store(count + 1, std::memory_order_release);
  return ClaimIn(count, sink);
}

void SlotPool::Release(trace::SlotHeader* slot) {
  const uint32_t count = extent_count_.load(std::memory_order_acquire);
  for (uint32_t e = 0; e < count; ++e) {
    const uint8_t* p = reinterpret_cast<uint8_t*>(slot);
    if (p < memory_[e] || p >= memory_[e] + trace::kExtentBytes) continue;
    const uint32_t index = static_cast<uint32_t>(static_cast<size_t>(p - memory_[e]) / trace::kSlotBytes);
    in_use_[e].fetch_and(~(1u << index), std::memory_order_release);
  }
}

void SlotPool::ReserveAll(TraceSink* sink) {
  const uint32_t count = extent_count_.load(std::memory_order_acquire);
  for (uint32_t e = 0; e < count; ++e) {
    for (uint32_t i = 0; i < trace::kSlotsPerExtent; ++i) {
      if (reserved_[e].load(std::memory_order_relaxed) & (1u << i)) continue;
      if (!sink->ReserveSlot(reinterpret_cast<uint8_t*>(SlotAt(e, i)))) return;
      reserved_[e].fetch_or(1u << i, std::memory_order_relaxed);
    }
  }
}

void SlotPool::RetireFree(TraceSink* sink) {
  const uint32_t count = extent_count_.load(std::memory_order_acquire);
  for (uint32_t e = 0; e < count; ++e) {
    const uint32_t used = in_use_[e].fetch_or(kAllUsed, std::memory_order_acquire);
    for (uint32_t i = 0; i < trace::kSlotsPerExtent;) {
      uint32_t end = i;
      while (end < trace::kSlotsPerExtent && !(used & (1u << end))) ++end;
      if (end > i) sink->PunchHole(memory_[e] + i * trace::kSlotBytes, (end - i) * trace::kSlotBytes);
      i = end + 1;
    }
  }
}

void SlotPool::Reset() {
  growth_lock_.Release();
  extent_count_.store(0, std::memory_order_relaxed);
}

}  // namespace plateau

#include "preload/unwind/rule_table.h"

#include "preload/base/raw_memory.h"

namespace plateau::unwind {

bool RuleTable::Initialize(unsigned log2_slots) {
  log2_slots_ = log2_slots;
  for (unsigned i = 0; i < kMaxSegments; ++i) {
    segments_[i].shift = 64 - (log2_slots + kLog2Growth[i]);
    segments_[i].count = (size_t{1} << (log2_slots + kLog2Growth[i])) + kProbeWindow;
  }
  return SlotsOf(0) != nullptr;
}

RuleEntry* RuleTable::SlotsOf(unsigned segment) {
  Segment& wanted = segments_[segment];
  RuleEntry* slots = wanted.slots.load(std::memory_order_acquire);
  if (slots != nullptr || wanted.count == 0) return slots;
  auto* fresh = static_cast<RuleEntry*>(MapZeroed(wanted.count * sizeof(RuleEntry)));
  if (fresh == nullptr) return nullptr;
  // A thread that loses this race leaves an untouched reservation behind: address space, no memory.
  return wanted.slots.compare_exchange_strong(slots, fresh, std::memory_order_acq_rel) ? fresh : slots;
}

// The entry of `address` in its window, made when there is room. Retired slots are used again, after the
// whole window has been searched: what they described is gone, so no live frame refers to them.
RuleEntry* RuleTable::FindInSegment(RuleEntry* slots, unsigned shift, uintptr_t address) {
  RuleEntry* window = slots + (Hash(address) >> shift);
  for (unsigned attempt = 0; attempt < kProbeWindow; ++attempt) {
    RuleEntry* room = nullptr;
    for (unsigned i = 0; i < kProbeWindow; ++i) {
      const uintptr_t key = window[i].key.load(std::memory_order_acquire);
      if (key == address) return &window[i];
      if ((key == kRetired || key == kFree) && room == nullptr) room = &window[i];
      if (key == kFree) break;
    }
    if (room == nullptr) return nullptr;
    // Two threads may make the same rule at the same time; one copy is never found again and costs a slot.
    uintptr_t key = room->key.load(std::memory_order_relaxed);
    if ((key != kRetired && key != kFree) ||
        !room->key.compare_exchange_strong(key, kBusy, std::memory_order_acq_rel)) {
      continue;
    }
    room->rule = MakeRule(address);
    room->location.store(0, std::memory_order_relaxed);
    room->memo.store(0, std::memory_order_relaxed);
    size_.fetch_add(1, std::memory_order_relaxed);
    room->key.store(address, std::memory_order_release);
    return room;
  }
  return nullptr;
}

[[gnu::noinline]] RuleEntry* RuleTable::FindSlow(uintptr_t address) {
  if (address > kAbandoned) {
    // Most are at their first place in one of the segments.
    for (const Segment& segment : segments_) {
      RuleEntry* slots = segment.slots.load(std::memory_order_acquire);
      if (slots == nullptr) break;
      RuleEntry* entry = slots + (Hash(address) >> segment.shift);
      if (entry->key.load(std::memory_order_acquire) == address) return entry;
    }
    for (unsigned i = 0; i < kMaxSegments; ++i) {
      RuleEntry* slots = SlotsOf(i);
      if (slots == nullptr) break;
      RuleEntry* entry = FindInSegment(slots, segments_[i].shift, address);
      if (entry != nullptr) return entry;
    }
  }
  full_count_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void RuleTable::Retire(uintptr_t begin, uintptr_t end) {
  for (Segment& segment : segments_) {
    RuleEntry* slots = segment.slots.load(std::memory_order_acquire);
    if (slots == nullptr) continue;
    for (size_t i = 0; i < segment.count; ++i) {
      const uintptr_t key = slots[i].key.load(std::memory_order_relaxed);
      if (key <= kAbandoned || key < begin || key >= end) continue;
      slots[i].key.store(kRetired, std::memory_order_release);
      size_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

size_t RuleTable::mapped_bytes() const {
  size_t bytes = 0;
  for (const Segment& segment : segments_) {
    if (segment.slots.load(std::memory_order_acquire) != nullptr) bytes += segment.count * sizeof(RuleEntry);
  }
  return bytes;
}

void RuleTable::Clear() {
  for (Segment& segment : segments_) {
    RuleEntry* slots = segment.slots.load(std::memory_order_acquire);
    if (slots != nullptr) DropPages(slots, segment.count * sizeof(RuleEntry));
  }
  size_.store(0, std::memory_order_relaxed);
}

}  // namespace plateau::unwind

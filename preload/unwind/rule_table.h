// Code address -> rule, for the whole process: filled once per address, read without locks.
//
//   segment 0: 2^14 slots of 32 B = 512 KiB, reserved, touched only where used
//   segment 1: 2^17 slots, mapped when a probe window of segment 0 is full; segment 2: 2^19
//
// Addresses are scattered, so the first segment is small: each may touch a page of its own.
//
// A slot is claimed by compare-and-swap, filled, and its key stored last, so a reader sees a whole entry or
// none. Entries are never moved or reused, so a pointer stays valid for the life of the process; entries of
// unloaded code are only retired. When all windows of an address are full, Find() returns nullptr and
// full_count() grows. Allocates: maps segments. Locks: never. Globals of this type are constant-initialised.
#ifndef PLATEAU_PRELOAD_UNWIND_RULE_TABLE_H_
#define PLATEAU_PRELOAD_UNWIND_RULE_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/unwind/cfi_rule.h"

namespace plateau::unwind {

struct RuleEntry {
  std::atomic<uintptr_t> key;  // code address, or a state below 4
  CfiRule rule;
  std::atomic<uint32_t> location;  // id in the trace; 0: not defined yet
  // The last (parent << 32 | node) interned for this address, so that a repeated path needs no look-up.
  std::atomic<uint64_t> memo;
};
static_assert(sizeof(RuleEntry) == 32);

class RuleTable {
 public:
  static constexpr unsigned kDefaultLog2Slots = 14;
  static constexpr unsigned kMaxSegments = 3;
  static constexpr unsigned kLog2Growth[kMaxSegments] = {0, 3, 5};
  static constexpr unsigned kProbeWindow = 32;  // slots tried per segment

  constexpr RuleTable() = default;
  RuleTable(const RuleTable&) = delete;
  RuleTable& operator=(const RuleTable&) = delete;

  // Maps segment 0. False when the kernel refuses: every Find() then returns nullptr.
  bool Initialize(unsigned log2_slots = kDefaultLog2Slots);

  // The entry of `address`, made by MakeRule() when it is new. nullptr when the table is full.
  RuleEntry* Find(uintptr_t address) {
    Segment& first = segments_[0];
    RuleEntry* slots = first.slots.load(std::memory_order_acquire);
    if (slots == nullptr) [[unlikely]]
      return nullptr;
    RuleEntry* entry = slots + (Hash(address) >> first.shift);
    if (entry->key.load(std::memory_order_acquire) == address) [[likely]]
      return entry;
    return FindSlow(address);
  }

  // Retires the entries of [begin, end), code that has been unloaded, so that the next Find() makes new ones.
  void Retire(uintptr_t begin, uintptr_t end);
  // Gives up one entry whose code may be running: the slot is not used again.
  void Abandon(RuleEntry* entry) { entry->key.store(kAbandoned, std::memory_order_release); }

  // Empties the table: only where no other thread can be using it, as in the child of a fork.
  void Clear();

  // Of the segments in use.
  size_t mapped_bytes() const;
  uint64_t size() const { return size_.load(std::memory_order_relaxed); }
  uint64_t full_count() const { return full_count_.load(std::memory_order_relaxed); }

 private:
  static constexpr uintptr_t kFree = 0;
  static constexpr uintptr_t kBusy = 1;
  static constexpr uintptr_t kRetired = 2;
  static constexpr uintptr_t kAbandoned = 3;

  // A segment has kProbeWindow slots more than 2^log2, so a window never wraps.
  struct Segment {
    std::atomic<RuleEntry*> slots{nullptr};
    unsigned shift = 0;
    size_t count = 0;
  };

  static uint64_t Hash(uintptr_t address) { return address * 0x9E3779B97F4A7C15u; }

  RuleEntry* FindSlow(uintptr_t address);
  RuleEntry* FindInSegment(RuleEntry* slots, unsigned shift, uintptr_t address);
  RuleEntry* SlotsOf(unsigned segment);

  Segment segments_[kMaxSegments] = {};
  unsigned log2_slots_ = 0;
  std::atomic<uint64_t> size_{0};
  std::atomic<uint64_t> full_count_{0};
};

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_RULE_TABLE_H_

// Stacks that a thread has walked before, found by their leaf frame, each with what proves it again.
//
//   remembered stack   [0] root ... [base] | [base + 1] ...            of the last walk
//                                      `---- checks ---- leaf          of this entry, its node known
//
// An entry hangs on a frame of the remembered stack, so threads that allocate in a few places in turn need no
// steps by rule. It says: if the leaf has this pc and rsp, and each word of `checks` holds its value, then
// the callers lead to frame `base`. That is the proof of stack_walker.h, kept for more than one leaf.
// `base_walk` tells whether that frame, and with it all its callers, is still the one that was there.
//
// Four entries may have the same leaf; the first of the four is the one that costs least to find.
//
// An object belongs to one thread. Allocates: never. Locks: never. Memory: 48 KiB reserved, 64 bytes touched
// per entry in use and 16 per check.
#ifndef PLATEAU_PRELOAD_UNWIND_KNOWN_STACKS_H_
#define PLATEAU_PRELOAD_UNWIND_KNOWN_STACKS_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace plateau::unwind {

struct WordCheck {
  const uintptr_t* slot;
  uintptr_t value;
};

class KnownStacks {
 public:
  static constexpr uint32_t kMaxChecks = 44;
  static constexpr uint32_t kChecksPerTurn = 4;  // lists are padded to a multiple of it
  static constexpr size_t kWays = 4;

  // Without initialisers: an entry costs memory when it is used.
  struct alignas(64) Entry {
    uintptr_t rsp;  // of the leaf
    uintptr_t rbp;  // of the leaf; only the bits of rbp_mask count
    uintptr_t rbp_mask;
    uint64_t base_walk;  // the walk that put frame `base` where it is
    uint32_t base;
    uint32_t node;
    uint32_t check_count;
    WordCheck checks[kMaxChecks];
  };
  static_assert(sizeof(Entry) == 768 && std::is_trivially_default_constructible_v<Entry>);

  void Clear() {
    for (uintptr_t& pc : pcs_) pc = 0;
    used_ = 0;
  }

  // An entry for a leaf with these registers, or null. `way` is 0 for the first try, up to kWays - 1.
  const Entry* Find(uintptr_t pc, uintptr_t rsp, size_t way) const {
    const size_t place = PlaceOf(pc, rsp) ^ way;
    const Entry& entry = entries_[numbers_[place]];
    return pcs_[place] == pc && entry.rsp == rsp ? &entry : nullptr;
  }

  // A place for such an entry, which the caller fills in: one that is free, one for which is_useless(entry),
  // else that of the next way in turn.
  template <typename IsUseless>
  Entry* Make(uintptr_t pc, uintptr_t rsp, IsUseless is_useless) {
    const size_t home = PlaceOf(pc, rsp);
    size_t place = home ^ (turn_++ % kWays);
    for (size_t way = 0; way < kWays; ++way) {
      if (pcs_[home ^ way] != 0 && !is_useless(entries_[numbers_[home ^ way]])) continue;
      place = home ^ way;
      break;
    }
    if (pcs_[place] == 0) numbers_[place] = used_++;
    pcs_[place] = pc;
    Entry& entry = entries_[numbers_[place]];
    entry.rsp = rsp;
    return &entry;
  }

 private:
  static constexpr unsigned kLog2Entries = 6;
  static constexpr size_t kEntries = size_t{1} << kLog2Entries;

  static size_t PlaceOf(uintptr_t pc, uintptr_t rsp) {
    return static_cast<size_t>((pc ^ rsp << 20) * 0x9E3779B97F4A7C15u >> (64 - kLog2Entries));
  }

  size_t turn_ = 0;
  uint8_t used_ = 0;
  uint8_t numbers_[kEntries] = {};  // of the entry of each place
  uintptr_t pcs_[kEntries];         // of the leaves; 0: no entry
  Entry entries_[kEntries];         // in the order of their first use, so that a few are on few pages
};

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_KNOWN_STACKS_H_

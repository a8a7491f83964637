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
// One thread's. Allocates: never. Locks: never. Memory: 16 KiB reserved, 256 bytes touched per entry in use.
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
  static constexpr uint32_t kMaxChecks = 12;
  static constexpr uint32_t kChecksPerTurn = 4;  // lists are padded to a multiple of it

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
  static_assert(sizeof(Entry) == 256 && std::is_trivially_default_constructible_v<Entry>);

  void Clear() {
    for (uintptr_t& pc : pcs_) pc = 0;
  }

  // The entry for a leaf with these registers, or null.
  const Entry* Find(uintptr_t pc, uintptr_t rsp) const {
    const size_t place = PlaceOf(pc, rsp);
    return pcs_[place] == pc && entries_[place].rsp == rsp ? &entries_[place] : nullptr;
  }

  // The place for such an entry, emptied: whoever gets it fills it in.
  Entry* Make(uintptr_t pc, uintptr_t rsp) {
    const size_t place = PlaceOf(pc, rsp);
    pcs_[place] = pc;
    entries_[place].rsp = rsp;
    entries_[place].check_count = 0;
    return &entries_[place];
  }

 private:
  static constexpr unsigned kLog2Entries = 6;

  static size_t PlaceOf(uintptr_t pc, uintptr_t rsp) {
    return static_cast<size_t>((pc ^ rsp << 20) * 0x9E3779B97F4A7C15u >> (64 - kLog2Entries));
  }

  uintptr_t pcs_[size_t{1} << kLog2Entries];  // of the leaves; 0: no entry
  Entry entries_[size_t{1} << kLog2Entries];
};

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_KNOWN_STACKS_H_

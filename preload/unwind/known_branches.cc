// How StackWalker proves a known branch, and how it gets to know one.
#include "preload/unwind/known_branches.h"

#include <cstdint>

#include "preload/unwind/stack_walker.h"
#include "preload/unwind/stack_words.h"

namespace plateau::unwind {

// The leaf is alive and on the thread's own stack, where the entry's words are above it: they can be read in
// any order.
PLATEAU_READS_STACK bool StackWalker::IsKnown(const KnownBranches::Entry& known, uintptr_t rbp) const {
  if (known.walk <= forgotten_walk_) return false;
  const uintptr_t lowest = known.rsp - KnownBranches::kBytesBelowRsp;
  uintptr_t change = (rbp ^ known.rbp) & known.rbp_mask;
  for (uint32_t turn = 0; turn < known.check_count; turn += KnownBranches::kChecksPerTurn) {
#pragma GCC unroll 4
    for (uint32_t i = turn; i < turn + KnownBranches::kChecksPerTurn; ++i) {
      change |= Load(lowest + sizeof(uintptr_t) * known.slots[i]) ^ known.values[i];
    }
  }
  return change == 0;
}

uint32_t StackWalker::KnownNodeAbove(const Registers& start, uint32_t parent, uintptr_t stop_address) {
  size_t way = 0;
  while (const KnownBranches::Entry* known =
             branches_.Next(start.rip, start.rsp, parent, stop_address, &way)) {
    if (!IsKnown(*known, start.rbp)) continue;
    ++counters_.known;
    return known->node;
  }
  return 0;
}

void StackWalker::RememberNodeAbove(uint32_t parent, uintptr_t stop_address) {
  using Entry = KnownBranches::Entry;
  if (depth_ == 0 || end_ != StackEnd::kStopAddress) return;
  const uint32_t leaf = depth_ - 1;
  const Detail& detail = details_[leaf];
  const uintptr_t rsp = At(leaf).rsp;
  const uint32_t wanted = leaf + detail.rbp_checks;
  constexpr uintptr_t kMaxBytes = sizeof(uintptr_t) * UINT16_MAX - KnownBranches::kBytesBelowRsp;
  if (wanted >= KnownBranches::kMaxChecks - KnownBranches::kChecksPerTurn || !IsOwnStack(rsp) ||
      root_cfa_ > own_.end || root_cfa_ - rsp > kMaxBytes || rsp % sizeof(uintptr_t) != 0) {
    return;
  }
  uint32_t flags = 0;
  for (uint32_t i = 0; i <= leaf; ++i) flags |= details_[i].flags;
  if ((flags & kStepFlags) != 0) return;

  Entry* known = branches_.Make(At(leaf).pc, rsp, parent, stop_address);
  known->rbp = detail.rbp;
  known->rbp_mask = (detail.flags & kUsesRbp) != 0 ? ~uintptr_t{0} : 0;
  known->walk = counters_.walks;
  known->node = detail.node;
  uint32_t count = 0;
  const auto check = [&](uintptr_t slot, uintptr_t value) {
    known->slots[count] =
        static_cast<uint16_t>((slot - rsp + KnownBranches::kBytesBelowRsp) / sizeof(uintptr_t));
    known->values[count++] = value;
  };
  for (uint32_t i = leaf; i > 0; --i) {
    const uintptr_t slot = ReturnSlotOf(At(i - 1));
    check(slot, kReturnSlotsVary ? Load(slot) : At(i - 1).pc);  // with its signature
  }
  for (uint32_t i = 0; i < detail.rbp_checks; ++i) {
    check(reinterpret_cast<uintptr_t>(rbp_checks_[i].slot), rbp_checks_[i].value);
  }
  for (; count % KnownBranches::kChecksPerTurn != 0; ++count) {
    known->slots[count] = known->slots[count - 1];
    known->values[count] = known->values[count - 1];
  }
  known->check_count = static_cast<uint16_t>(count);
}

}  // namespace plateau::unwind

// How StackWalker proves a known stack, and how it gets to know one.
#include "preload/unwind/known_stacks.h"

#include <cstdint>

#include "preload/unwind/stack_walker.h"
#include "preload/unwind/stack_words.h"

namespace plateau::unwind {
namespace {

constexpr uint32_t kAlwaysRemembered = 12;  // checks of an entry; one longer stack in 4 is remembered

}  // namespace

// All slots of an entry are above the leaf's rsp on the thread's own stack, and so are those of the base's
// callers: they can be read in any order.
PLATEAU_READS_STACK bool StackWalker::IsKnown(const KnownStacks::Entry& known, uintptr_t rbp) const {
  const uint32_t base = known.base;
  if (!HasBase(known) || !root_is_final_ || has_foreign_frames_) return false;
  uintptr_t change = (rbp ^ known.rbp) & known.rbp_mask;
  for (const WordCheck* check = known.checks; check < known.checks + known.check_count;
       check += KnownStacks::kChecksPerTurn) {
#pragma GCC unroll 4
    for (uint32_t i = 0; i < KnownStacks::kChecksPerTurn; ++i) change |= Load(check[i].slot) ^ check[i].value;
  }
  const WordCheck* const checks_end = rbp_checks_ + details_[base].rbp_checks;
  for (const WordCheck* check = rbp_checks_; check < checks_end; ++check) {
    change |= Load(check->slot) ^ check->value;
  }
  // The callers of the base, by turns of 8; the last turn begins at the root, where it may meet some again.
  const Frame* frame = frames() + base;
  if (base >= kUnrolled) [[likely]] {
    for (; frame > frames() + kUnrolled; frame -= kUnrolled) {
#pragma GCC unroll 8
      for (int32_t i = 1; i <= kUnrolled; ++i) change |= ChangeOf(frame[-i]);
    }
#pragma GCC unroll 8
    for (int32_t i = 0; i < kUnrolled; ++i) change |= ChangeOf(frames()[i]);
  } else {
    while (frame > frames()) change |= ChangeOf(*--frame);
  }
  return change == 0;
}

[[gnu::noinline]] const KnownStacks::Entry* StackWalker::FindOtherWay(const Registers& start) const {
  for (size_t way = 1; way < KnownStacks::kWays; ++way) {
    const KnownStacks::Entry* known = known_.Find(start.rip, start.rsp, way);
    if (known != nullptr && IsKnown(*known, start.rbp)) return known;
  }
  return nullptr;
}

void StackWalker::RememberNode(uint32_t unchanged) {
  if (depth_ < 2 || unchanged == 0 || !root_is_final_ || has_foreign_frames_) return;
  const uint32_t leaf = depth_ - 1;
  const uint32_t base = (unchanged < leaf ? unchanged : leaf) - 1;
  const Detail& detail = details_[leaf];
  const uint32_t rbp_checks = details_[base].rbp_checks;
  const uint32_t wanted = leaf - base + detail.rbp_checks - rbp_checks;
  if (detail.barrier != 0 || wanted > KnownStacks::kMaxChecks) return;
  // Long ones cost something to write; those that come again are learned soon enough.
  if (wanted > kAlwaysRemembered && counters_.walks * 0x9e3779b97f4a7c15u >> 62 != 0) return;
  KnownStacks::Entry* known = known_.Make(
      At(leaf).pc, At(leaf).rsp, [this](const KnownStacks::Entry& entry) { return !HasBase(entry); });
  known->rbp = detail.rbp;
  known->rbp_mask = (detail.flags & kUsesRbp) != 0 ? ~uintptr_t{0} : 0;
  known->base_walk = placed_by_[base];
  known->base = base;
  known->node = detail.node;
  uint32_t count = 0;
  for (uint32_t i = leaf; i > base; --i) {
    const auto* slot = reinterpret_cast<const uintptr_t*>(ReturnSlotOf(At(i - 1)));
    known->checks[count++] = {slot, kReturnSlotsVary ? Load(slot) : At(i - 1).pc};  // with its signature
  }
  for (uint32_t i = rbp_checks; i < detail.rbp_checks; ++i) known->checks[count++] = rbp_checks_[i];
  for (; count % KnownStacks::kChecksPerTurn != 0; ++count) known->checks[count] = {&known->rsp, known->rsp};
  known->check_count = count;
}

}  // namespace plateau::unwind

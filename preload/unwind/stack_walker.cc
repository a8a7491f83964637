#include "preload/unwind/stack_walker.h"

#include <cstdint>

#include "preload/unwind/stack_words.h"

namespace plateau::unwind {

void StackWalker::Initialize(RuleTable* rules) {
  rules_ = rules;
  own_ = CurrentStackBounds();
  depth_ = 0;
  stack_[0] = {0, UINTPTR_MAX};
  known_.Clear();
  branches_.Clear();
  forgotten_walk_ = counters_.walks;
}

uint32_t StackWalker::Walk(const Registers& start, uintptr_t stop_address) {
  const Position at{start.rip, start.rsp, start.rbp, 0};
  if (start.rsp < own_.begin) [[unlikely]]
    ExtendStackBounds(start.rsp, &own_);
  fresh_count_ = 0;
  known_page_ = PageOf(start.rsp - sizeof(uintptr_t));
  const uint32_t unchanged = stop_address == 0 ? WalkFrom<false>(at, 0) : WalkFrom<true>(at, stop_address);
  ++counters_.walks;
  counters_.stepped_frames += depth_ - unchanged;
  ++counters_.ends[static_cast<size_t>(end_)];
  return unchanged;
}

template <bool kHasStop>
bool StackWalker::Holds(uint32_t index, uintptr_t address) const {
  if constexpr (kHasStop) {
    return address >= At(index).rsp && address < Cfa(index) && (details_[index].flags & kIsTrampoline) == 0;
  }
  return false;
}

// Where frame `index`, which saves it, keeps its caller's rbp.
const uintptr_t* StackWalker::RbpSlot(uint32_t index) const {
  const auto offset = static_cast<uintptr_t>(8 * intptr_t{details_[index].entry->rule.rbp_slot});
  return reinterpret_cast<const uintptr_t*>(At(index - 1).rsp + offset);
}

// rbp in the caller of frame `index`. Frames [index, proven_from] are proven by slots; `rbp` is that of the
// last of them.
PLATEAU_READS_STACK uintptr_t StackWalker::CallersRbp(uint32_t index, uint32_t proven_from,
                                                      uintptr_t rbp) const {
  for (uint32_t i = index; i <= proven_from; ++i) {
    if (details_[i].flags & kSavesRbp) return Load(RbpSlot(i));
  }
  return rbp;
}

PLATEAU_READS_STACK [[gnu::always_inline]] inline bool StackWalker::RbpChecksHold(uint32_t begin,
                                                                                  uint32_t end) const {
  uintptr_t change = 0;
  for (uint32_t i = begin; i < end; ++i) change |= Load(rbp_checks_[i].slot) ^ rbp_checks_[i].value;
  return change == 0;
}

// Whether frame `index`, which is proven, still has the same caller.
PLATEAU_READS_STACK inline bool StackWalker::IsCallerUnchanged(uint32_t index) const {
  const Detail& detail = details_[index];
  if ((detail.flags & kNeedsStep) != 0 || ChangeOf(At(index - 1)) != 0) return false;
  return (detail.flags & kChecksRbp) == 0 || RbpChecksHold(detail.rbp_checks - 1u, detail.rbp_checks);
}

// Frame `index` is proven. Returns the last one, from there to the root, that its slots prove, or the first
// that holds the stop address.
template <bool kHasStop>
PLATEAU_READS_STACK [[gnu::always_inline]] inline uint32_t StackWalker::Prove(uint32_t index,
                                                                              uintptr_t stop_address) const {
  const Detail& detail = details_[index];
  const uint32_t barrier = detail.barrier;
  // Slots of the thread's own stack can be read whatever they hold, so those of rbp can be read first. No
  // frame in between holds the stop address when the root does.
  if (!has_foreign_frames_ && (!kHasStop || (barrier == 0 && Holds<kHasStop>(0, stop_address))) &&
      RbpChecksHold(details_[barrier].rbp_checks, detail.rbp_checks)) [[likely]] {
    const Frame* frame = frames() + index;
    int32_t left = static_cast<int32_t>(index - barrier);
    for (; left >= kUnrolled; left -= kUnrolled, frame -= kUnrolled) {
      uintptr_t change = 0;
#pragma GCC unroll 8
      for (int32_t i = 1; i <= kUnrolled; ++i) change |= ChangeOf(frame[-i]);
      if (change != 0) break;
    }
    for (; left > 0 && ChangeOf(frame[-1]) == 0; --left) --frame;
    return barrier + static_cast<uint32_t>(left);
  }
  while (index != 0 && !Holds<kHasStop>(index, stop_address) && IsCallerUnchanged(index)) --index;
  return index;
}

// Returns how many frames from the root are unchanged; sets end_, root_is_final_, root_cfa_ and depth_.
template <bool kHasStop>
PLATEAU_READS_STACK uint32_t StackWalker::WalkFrom(Position at, uintptr_t stop_address) {
  const Frame* candidate = stack_ + depth_;  // the last of those that may still be met
  FreshFrame* fresh = fresh_;
  for (;;) {
    while (candidate->rsp < at.rsp) --candidate;  // ends at the sentinel

    if (candidate->rsp == at.rsp && candidate->pc == at.pc &&
        IsAt(static_cast<uint32_t>(candidate - frames()), at)) {
      const uint32_t leaf = static_cast<uint32_t>(candidate - frames());
      TakeReturnSlot(at, &At(leaf));
      fresh_count_ = static_cast<uint32_t>(fresh - fresh_);
      const uintptr_t leaf_rbp = at.rbp;
      uint32_t k = leaf;            // frames [k, leaf] are proven,
      uint32_t proven_from = leaf;  // those up to here by slots, beginning with this rbp
      uintptr_t rbp = leaf_rbp;
      for (;;) {
        k = Prove<kHasStop>(k, stop_address);
        if (Holds<kHasStop>(k, stop_address)) {
          StopAt(StackEnd::kStopAddress, Cfa(k));
          if (k == 0) return Place(leaf + 1);
          MoveToFresh(leaf, leaf_rbp, k);
          return Place(0);
        }
        if (k == 0) {
          if (root_is_final_) [[likely]]
            return Place(leaf + 1);
          if (end_ == StackEnd::kDepthCap && fresh_count_ + leaf + 1 >= kMaxDepth) return Place(leaf + 1);
        } else if ((details_[k].flags & kNeedsStep) == 0) {  // its caller is another one now
          const uintptr_t slot = ReturnSlotOf(At(k - 1));
          at = {ReturnAddressIn(Load(slot)), At(k - 1).rsp, CallersRbp(k, proven_from, rbp), 0};
          GiveReturnSlot(slot, &at);
          known_page_ = PageOf(slot);
          if (at.pc < kLowestCode) [[unlikely]] {
            StopAt(EndAtLowAddress(at.pc), at.rsp);
            MoveToFresh(leaf, leaf_rbp, k);
            return Place(0);
          }
          if (!MoveToFresh(leaf, leaf_rbp, k)) return Place(0);
          candidate = stack_ + k;
          break;
        }
        EnterFrame(k, leaf);
        const StackEnd old_end = end_;
        Position caller{At(k).pc, At(k).rsp, CallersRbp(k + 1, proven_from, rbp),
                        details_[k].flags & kIsExact};
        if constexpr (kReturnSlotsVary) GiveReturnSlot(ReturnSlotOf(At(k)), &caller);
        FreshFrame stepped;
        const bool has_caller = Step(&caller, &stepped);
        if (has_caller && k > 0 && IsAt(k - 1, caller)) {
          details_[k].entry = stepped.entry;
          details_[k - 1].rbp = rbp = caller.rbp;
          TakeReturnSlot(caller, &At(k - 1));
          proven_from = --k;
          continue;
        }
        if (!has_caller && k == 0 && end_ == old_end) return Place(leaf + 1);
        if ((k < leaf && !MoveToFresh(leaf, leaf_rbp, k + 1)) || stepped.entry == nullptr ||
            !AddFresh(stepped) || !has_caller) {
          return Place(0);
        }
        at = caller;
        candidate = stack_ + k;
        break;
      }
      fresh = fresh_ + fresh_count_;
      continue;
    }

    if (fresh == fresh_ + kMaxDepth) [[unlikely]] {
      StopAt(StackEnd::kDepthCap, fresh_[kMaxDepth - 1].frame.rsp);
      break;
    }
    const bool has_caller = Step(&at, fresh);
    if (fresh->entry == nullptr) [[unlikely]]
      break;  // kTableFull: there is no place for its id
    ++fresh;
    if (!has_caller) break;
    const bool is_trampoline = (fresh[-1].flags & kIsTrampoline) != 0;
    if (kHasStop && stop_address >= fresh[-1].frame.rsp && stop_address < at.rsp && !is_trampoline) {
      StopAt(StackEnd::kStopAddress, at.rsp);
      break;
    }
    if (is_trampoline) [[unlikely]]
      candidate = stack_ + depth_;  // another stack: look at all of them again
  }
  fresh_count_ = static_cast<uint32_t>(fresh - fresh_);
  return Place(0);
}

// Before frame `index` is stepped again: what is known to be readable is the word below its rsp, where its
// callee's return address was read. Not so above a signal, whose rsp comes from saved registers.
void StackWalker::EnterFrame(uint32_t index, uint32_t leaf_most) {
  if (index == leaf_most) return;
  known_page_ = (details_[index + 1].flags & kIsTrampoline) != 0 ? kNoPage : PageReadFor(At(index));
}

// The walk ends here. Until then end_ and its companions describe the remembered stack, which may yet prove
// to be right.
bool StackWalker::StopAt(StackEnd end, uintptr_t root_cfa) {
  end_ = end;
  root_is_final_ = false;
  root_cfa_ = root_cfa;
  return false;
}

bool StackWalker::AddFresh(const FreshFrame& frame) {
  if (fresh_count_ == kMaxDepth) return StopAt(StackEnd::kDepthCap, fresh_[kMaxDepth - 1].frame.rsp);
  fresh_[fresh_count_++] = frame;
  return true;
}

// Frames [to_root, from_leaf] are still right, but what is below them in the array is not. False at the depth
// cap.
PLATEAU_READS_STACK bool StackWalker::MoveToFresh(uint32_t from_leaf, uintptr_t leaf_rbp, uint32_t to_root) {
  uintptr_t rbp = leaf_rbp;
  for (uint32_t i = from_leaf;; --i) {
    const Detail& detail = details_[i];
    if (!AddFresh({At(i), rbp, detail.entry, detail.flags & kStepFlags})) return false;
    if (i == to_root) return true;
    if (detail.flags & kNeedsStep) {
      rbp = details_[i - 1].rbp;  // as that step has found it a moment ago
    } else if (detail.flags & kSavesRbp) {
      rbp = Load(RbpSlot(i));
    }
  }
}

// Frame `index` of the remembered stack, whose callers are in place. Field by field, as the fields were
// written: a wider move would have to wait for the narrow stores before it.
[[gnu::always_inline]] inline void StackWalker::Append(uint32_t index, const FreshFrame& fresh) {
  At(index).pc = fresh.frame.pc;
  At(index).rsp = fresh.frame.rsp;
  SetReturnSlot(&At(index), kReturnSlotsVary ? ReturnSlotOf(fresh.frame) : 0);
  const CfiRule& rule = fresh.entry->rule;
  uint32_t flags = fresh.flags & kStepFlags;
  uint32_t barrier = 0;
  uint32_t rbp_checks = 0;
  uint32_t caller_uses_rbp = 0;
  if (index != 0) [[likely]] {
    const Detail& caller = details_[index - 1];
    barrier = caller.barrier;
    rbp_checks = caller.rbp_checks;
    caller_uses_rbp = caller.flags & kUsesRbp;
  }
  if (flags & kNeedsStep) [[unlikely]] {
    barrier = index;  // the step begins with the true rbp and compares what its caller uses
  } else if (rule.rbp_slot != 0) {
    flags |= kSavesRbp;
    if (caller_uses_rbp != 0) {
      flags |= kChecksRbp;
      const auto offset = static_cast<uintptr_t>(8 * intptr_t{rule.rbp_slot});
      rbp_checks_[rbp_checks].slot = reinterpret_cast<const uintptr_t*>(At(index - 1).rsp + offset);
      rbp_checks_[rbp_checks].value = details_[index - 1].rbp;
      ++rbp_checks;
    }
  } else {
    flags |= caller_uses_rbp;
  }
  if (rule.kind == RuleKind::kRbp) flags |= kUsesRbp;
  Detail& detail = details_[index];
  detail.entry = fresh.entry;
  detail.rbp = fresh.rbp;
  detail.flags = flags;
  detail.rbp_checks = static_cast<uint16_t>(rbp_checks);
  detail.barrier = static_cast<uint16_t>(barrier);
  placed_by_[index] = counters_.walks;
}

// Makes room for the fresh frames at the depth cap. Returns how many of the `kept` ones are left.
[[gnu::noinline]] uint32_t StackWalker::DropRoot(uint32_t kept) {
  const uint32_t dropped = kept + fresh_count_ - kMaxDepth;
  StopAt(StackEnd::kDepthCap, At(dropped - 1).rsp);
  // Fewer callers may use fewer rbps, never more, so those that are not up to date stay unused.
  for (uint32_t i = dropped; i < kept; ++i) {
    Append(i - dropped, {At(i), details_[i].rbp, details_[i].entry, details_[i].flags});
  }
  return kept - dropped;
}

// Puts the fresh frames above the `kept` ones and drops the root side beyond the cap. Returns how many are
// unchanged.
[[gnu::always_inline]] inline uint32_t StackWalker::Place(uint32_t kept) {
  const uint32_t unchanged = kept + fresh_count_ > kMaxDepth ? 0 : kept;
  if (unchanged != kept) [[unlikely]]
    kept = DropRoot(kept);
  for (uint32_t i = fresh_count_; i-- > 0;) Append(kept++, fresh_[i]);
  depth_ = kept;
  return unchanged;
}

// Describes the frame at `at` and moves `at` to its caller. False at the end of the stack, with end_ saying
// why.
PLATEAU_READS_STACK [[gnu::always_inline]] inline bool StackWalker::Step(Position* at, FreshFrame* frame) {
  RuleEntry* entry = rules_->Find(at->code_address());
  frame->frame.pc = at->pc;
  frame->frame.rsp = at->rsp;
  TakeReturnSlot(*at, &frame->frame);
  frame->rbp = at->rbp;
  frame->flags = at->exact;
  frame->entry = entry;
  if (entry != nullptr) [[likely]] {
    const CfiRule& rule = entry->rule;
    const uintptr_t base = rule.kind == RuleKind::kRsp ? at->rsp : at->rbp;
    const uintptr_t cfa = base + static_cast<uintptr_t>(intptr_t{rule.cfa_offset});
    const uintptr_t slot = cfa + static_cast<uintptr_t>(8 * intptr_t{rule.rbp_slot});
    const uintptr_t return_slot = ReturnSlotBy(rule, cfa);
    // One test for all that can be wrong: a rule of another kind, a foreign stack, a CFA or a slot outside
    // the frame.
    if ((rule.kind == RuleKind::kRsp || rule.kind == RuleKind::kRbp) && at->rsp >= own_.begin &&
        cfa > at->rsp && cfa <= own_.end && cfa % sizeof(uintptr_t) == 0 &&
        (rule.rbp_slot == 0 || (slot >= at->rsp - kRedZoneBytes && slot < cfa)) &&
        (!kReturnSlotsVary || return_slot >= at->rsp)) [[likely]] {
      at->pc = ReturnAddressIn(Load(return_slot));
      GiveReturnSlot(return_slot, at);
      at->rsp = cfa;
      at->exact = 0;
      if (rule.rbp_slot != 0) at->rbp = Load(slot);
      if (at->pc >= kLowestCode) [[likely]]
        return true;
      return StopAt(EndAtLowAddress(at->pc), cfa);
    }
  }
  Position slow = *at;  // a copy, so that the original can stay in registers
  const bool has_caller = StepSlow(&slow, frame);
  *at = slow;
  return has_caller;
}

}  // namespace plateau::unwind

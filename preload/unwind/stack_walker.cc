#include "preload/unwind/stack_walker.h"

#include <cstdint>

#include "preload/unwind/full_step.h"
#include "preload/unwind/raw_memory.h"
#include "preload/unwind/signal_frame.h"

// Stacks are read while sanitizers think of them as poisoned frames, and rules while they think of them as
// races.
#define PLATEAU_READS_STACK [[gnu::no_sanitize_address, gnu::no_sanitize_thread]]

namespace plateau::unwind {
namespace {

constexpr uintptr_t kLowestCode = 4096;
constexpr uintptr_t kRedZoneBytes = 128;
constexpr uintptr_t kNoPage = 1;
constexpr int32_t kUnrolled = 8;            // frames proven per turn of the loop
constexpr uint32_t kAlwaysRemembered = 12;  // checks of an entry; one longer stack in 4 is remembered

// A null return address ends a stack as it should; other numbers that cannot be code are damage.
StackEnd EndAtLowAddress(uintptr_t pc) { return pc == 0 ? StackEnd::kOutermost : StackEnd::kOutOfStack; }

uintptr_t PageOf(uintptr_t address) { return address & ~(kPageBytes - 1); }

PLATEAU_READS_STACK inline uintptr_t Load(const uintptr_t* slot) { return *slot; }
PLATEAU_READS_STACK inline uintptr_t Load(uintptr_t address) {
  return *reinterpret_cast<const uintptr_t*>(address);
}

// 0 when `frame`, which has a callee, is still what that returns to. The slot is the callee's.
PLATEAU_READS_STACK [[gnu::always_inline]] inline uintptr_t ChangeOf(const Frame& frame) {
  return Load(frame.rsp - sizeof(uintptr_t)) ^ frame.pc;
}

}  // namespace

void StackWalker::Initialize(RuleTable* rules) {
  rules_ = rules;
  own_ = CurrentStackBounds();
  depth_ = 0;
  stack_[0] = {0, UINTPTR_MAX};
  known_.Clear();
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
    known->checks[count++] = {reinterpret_cast<const uintptr_t*>(At(i - 1).rsp) - 1, At(i - 1).pc};
  }
  for (uint32_t i = rbp_checks; i < detail.rbp_checks; ++i) known->checks[count++] = rbp_checks_[i];
  for (; count % KnownStacks::kChecksPerTurn != 0; ++count) known->checks[count] = {&known->rsp, known->rsp};
  known->check_count = count;
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
          const uintptr_t cfa = At(k - 1).rsp;
          at = {Load(cfa - sizeof(uintptr_t)), cfa, CallersRbp(k, proven_from, rbp), 0};
          known_page_ = PageOf(cfa - sizeof(uintptr_t));
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
        FreshFrame stepped;
        const bool has_caller = Step(&caller, &stepped);
        if (has_caller && k > 0 && IsAt(k - 1, caller)) {
          details_[k].entry = stepped.entry;
          details_[k - 1].rbp = rbp = caller.rbp;
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
  known_page_ =
      (details_[index + 1].flags & kIsTrampoline) != 0 ? kNoPage : PageOf(At(index).rsp - sizeof(uintptr_t));
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
  frame->rbp = at->rbp;
  frame->flags = at->exact;
  frame->entry = entry;
  if (entry != nullptr) [[likely]] {
    const CfiRule& rule = entry->rule;
    const uintptr_t base = rule.kind == RuleKind::kRsp ? at->rsp : at->rbp;
    const uintptr_t cfa = base + static_cast<uintptr_t>(intptr_t{rule.cfa_offset});
    const uintptr_t slot = cfa + static_cast<uintptr_t>(8 * intptr_t{rule.rbp_slot});
    // One test for all that can be wrong: a rule of another kind, a foreign stack, a CFA or a slot outside
    // the frame.
    if ((rule.kind == RuleKind::kRsp || rule.kind == RuleKind::kRbp) && at->rsp >= own_.begin &&
        cfa > at->rsp && cfa <= own_.end && cfa % sizeof(uintptr_t) == 0 &&
        (rule.rbp_slot == 0 || (slot >= at->rsp - kRedZoneBytes && slot < cfa))) [[likely]] {
      at->pc = Load(cfa - sizeof(uintptr_t));
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

// Everything that is rare: other kinds of rules, other stacks than the thread's own, ends.
[[gnu::noinline]] bool StackWalker::StepSlow(Position* at, FreshFrame* frame) {
  frame->flags |= kNeedsStep;
  LoadedObject object;
  if (frame->entry != nullptr && frame->entry->rule.kind == RuleKind::kNoObject &&
      FindLoadedObject(at->code_address(), &object)) {
    rules_->Abandon(frame->entry);  // code has been loaded there since
    frame->entry = rules_->Find(at->code_address());
  }
  if (frame->entry == nullptr) return StopAt(StackEnd::kTableFull, at->rsp);
  const CfiRule& rule = frame->entry->rule;
  const auto offset = static_cast<uintptr_t>(intptr_t{rule.cfa_offset});
  uintptr_t cfa = 0;
  switch (rule.kind) {
    case RuleKind::kOutermost:
      StopAt(StackEnd::kOutermost, at->rsp);
      root_is_final_ = true;
      return false;
    case RuleKind::kNoObject:
      return StopAt(StackEnd::kNoObject, at->rsp);
    case RuleKind::kNoCfi:
      return StopAt(StackEnd::kNoCfi, at->rsp);
    case RuleKind::kSignal:
      return StepOverSignal(at, frame);
    case RuleKind::kComplex: {
      CallerState caller;
      ++counters_.slow_steps;
      if (!StepWithAllRegisters({at->pc, at->rsp, at->rbp}, &caller)) {
        return StopAt(StackEnd::kUnsupported, at->rsp);
      }
      *at = {caller.registers.rip, caller.registers.rsp, caller.registers.rbp,
             caller.is_exact ? kIsExact : 0u};
      known_page_ = kNoPage;
      return at->pc >= kLowestCode || StopAt(EndAtLowAddress(at->pc), at->rsp);
    }
    case RuleKind::kRsp:
      cfa = at->rsp + offset;
      break;
    case RuleKind::kRbp:
      cfa = at->rbp + offset;
      break;
    case RuleKind::kRealignRsp:
    case RuleKind::kRealignRbp: {
      const uintptr_t base = rule.kind == RuleKind::kRealignRsp ? at->rsp : at->rbp;
      bool probed = false;
      if (!ReadWord(base + offset, at->rsp, &cfa, &probed)) return StopAt(StackEnd::kOutOfStack, at->rsp);
      cfa += static_cast<uintptr_t>(intptr_t{rule.cfa_addend});
      break;
    }
  }
  uintptr_t rbp_slot = 0;
  const auto slot_offset = static_cast<uintptr_t>(8 * intptr_t{rule.rbp_slot});
  if (rule.rbp_slot_from_rbp) {
    rbp_slot = at->rbp + slot_offset;
  } else if (rule.rbp_slot != 0) {
    rbp_slot = cfa + slot_offset;
  }
  return StepBySlots(at, cfa, rbp_slot, frame);
}

bool StackWalker::StepBySlots(Position* at, uintptr_t cfa, uintptr_t rbp_slot, FreshFrame* frame) {
  const bool own = IsOwnStack(at->rsp);
  const bool inside = cfa > at->rsp && (own ? cfa <= own_.end : cfa - at->rsp < kMaxForeignFrameBytes);
  bool probed = false;
  Position caller{0, cfa, at->rbp, 0};
  if (!inside || !ReadWord(cfa - sizeof(uintptr_t), at->rsp, &caller.pc, &probed) ||
      (rbp_slot != 0 && (rbp_slot >= cfa || !ReadWord(rbp_slot, at->rsp, &caller.rbp, &probed)))) {
    return StopAt(StackEnd::kOutOfStack, at->rsp);
  }
  const RuleKind kind = frame->entry->rule.kind;
  if (!probed && (kind == RuleKind::kRsp || kind == RuleKind::kRbp)) {
    frame->flags &= ~uint32_t{kNeedsStep};
    if (!own) has_foreign_frames_ = true;
  }
  *at = caller;
  known_page_ = PageOf(cfa - sizeof(uintptr_t));
  return at->pc >= kLowestCode || StopAt(EndAtLowAddress(at->pc), cfa);
}

bool StackWalker::StepOverSignal(Position* at, FreshFrame* frame) {
  bool probed = false;
  Position caller{0, 0, 0, kIsExact};
  frame->flags |= kIsTrampoline;
  if (!ReadWord(at->rsp + kContextOffsets[kRegisterReturn], at->rsp, &caller.pc, &probed) ||
      !ReadWord(at->rsp + kContextOffsets[kRegisterRsp], at->rsp, &caller.rsp, &probed) ||
      !ReadWord(at->rsp + kContextOffsets[kRegisterRbp], at->rsp, &caller.rbp, &probed)) {
    return StopAt(StackEnd::kOutOfStack, at->rsp);
  }
  *at = caller;
  known_page_ = kNoPage;
  return at->pc >= kLowestCode || StopAt(EndAtLowAddress(at->pc), at->rsp);
}

// Reads a word of the frame whose rsp is `lowest`. False when it may not be there.
PLATEAU_READS_STACK bool StackWalker::ReadWord(uintptr_t address, uintptr_t lowest, uintptr_t* value,
                                               bool* probed) {
  if (address % sizeof(uintptr_t) != 0) return false;
  if (IsOwnStack(lowest)) {
    if (address < lowest - kRedZoneBytes || address > own_.end - sizeof(uintptr_t)) return false;
  } else if (PageOf(address) != known_page_) {
    *probed = true;
    if (!IsReadable(address)) return false;
    known_page_ = PageOf(address);
  }
  *value = Load(address);
  return true;
}

}  // namespace plateau::unwind

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
// The return slot of a frame that must be stepped: no pc equals what it holds.
constinit const uintptr_t kNeverEqual = 0;

// A null return address ends a stack as it should; other numbers that cannot be code are damage.
StackEnd EndAtLowAddress(uintptr_t pc) { return pc == 0 ? StackEnd::kOutermost : StackEnd::kOutOfStack; }

uintptr_t PageOf(uintptr_t address) { return address & ~(kPageBytes - 1); }

PLATEAU_READS_STACK inline uintptr_t Load(const uintptr_t* slot) { return *slot; }
PLATEAU_READS_STACK inline uintptr_t Load(uintptr_t address) {
  return *reinterpret_cast<const uintptr_t*>(address);
}

// 0 when the frame below `frame` in the array is still its caller: both slots hold what they held.
PLATEAU_READS_STACK [[gnu::always_inline]] inline uintptr_t ChangeOfCaller(const Frame* frame) {
  const Frame* caller = frame - 1;
  return (Load(frame->return_slot) ^ caller->pc) | (Load(frame->rbp_slot) ^ caller->rbp);
}

}  // namespace

void StackWalker::Initialize(RuleTable* rules) {
  rules_ = rules;
  own_ = CurrentStackBounds();
  depth_ = 0;
}

// Field by field, as the fields are written: a wider move would have to wait for the narrow stores before it.
inline void StackWalker::Copy(Frame* to, const Frame& from) {
  to->pc = from.pc;
  to->rsp = from.rsp;
  to->rbp = from.rbp;
  to->return_slot = from.return_slot;
  to->rbp_slot = from.rbp_slot == &from.rbp ? &to->rbp : from.rbp_slot;
  to->entry = from.entry;
  to->flags = from.flags;
}

WalkResult StackWalker::Walk(const Registers& start, uintptr_t stop_address) {
  const Position at{start.rip, start.rsp, start.rbp, 0};
  if (start.rsp < own_.begin) [[unlikely]]
    ExtendStackBounds(start.rsp, &own_);
  fresh_count_ = 0;
  known_page_ = PageOf(start.rsp - sizeof(uintptr_t));
  const uint32_t unchanged = stop_address == 0 ? WalkFrom<false>(at, 0) : WalkFrom<true>(at, stop_address);
  ++counters_.walks;
  counters_.frames += depth_;
  counters_.stepped_frames += depth_ - unchanged;
  ++counters_.ends[static_cast<size_t>(end_)];
  return {frames_, depth_, unchanged, end_};
}

template <bool kHasStop>
bool StackWalker::Holds(uint32_t index, uintptr_t address) const {
  if constexpr (kHasStop) {
    return address >= frames_[index].rsp && address < Cfa(index) && !frames_[index].is_trampoline();
  }
  return false;
}

// Returns how many frames from the root are unchanged; sets end_, root_is_final_, root_cfa_ and depth_.
template <bool kHasStop>
PLATEAU_READS_STACK uint32_t StackWalker::WalkFrom(Position at, uintptr_t stop_address) {
  uint32_t candidates = depth_;  // remembered frames that may still be met
  for (;;) {
    while (candidates > 0 && frames_[candidates - 1].rsp < at.rsp) --candidates;

    if (candidates > 0 && IsAt(frames_[candidates - 1], at)) {
      const uint32_t leaf = candidates - 1;
      uint32_t k = leaf;  // frames [k, leaf] are proven
      for (;;) {
        const Frame* frame = &frames_[k];
        if (!kHasStop && !has_foreign_frames_) {
          // Slots of the thread's own stack can be read whatever they hold, so four frames share a branch.
          while (frame - frames_ >= 4 && (ChangeOfCaller(frame) | ChangeOfCaller(frame - 1) |
                                          ChangeOfCaller(frame - 2) | ChangeOfCaller(frame - 3)) == 0) {
            frame -= 4;
          }
        }
        while (frame != frames_ && !Holds<kHasStop>(static_cast<uint32_t>(frame - frames_), stop_address) &&
               ChangeOfCaller(frame) == 0) {
          --frame;
        }
        k = static_cast<uint32_t>(frame - frames_);
        if (Holds<kHasStop>(k, stop_address)) {
          StopAt(StackEnd::kStopAddress, Cfa(k));
          if (k == 0) return Place(leaf + 1);
          MoveToFresh(leaf, k);
          return Place(0);
        }
        if (k == 0) {
          if (root_is_final_) return Place(leaf + 1);
          if (end_ == StackEnd::kDepthCap && fresh_count_ + leaf + 1 >= kMaxDepth) return Place(leaf + 1);
        } else if (!frames_[k].needs_step()) {  // its caller is another one now
          at = {Load(frames_[k].return_slot), reinterpret_cast<uintptr_t>(frames_[k].return_slot + 1),
                Load(frames_[k].rbp_slot), 0};
          known_page_ = PageOf(reinterpret_cast<uintptr_t>(frames_[k].return_slot));
          if (at.pc < kLowestCode) [[unlikely]] {
            StopAt(EndAtLowAddress(at.pc), at.rsp);
            MoveToFresh(leaf, k);
            return Place(0);
          }
          if (!MoveToFresh(leaf, k)) return Place(0);
          candidates = k;
          break;
        }
        EnterFrame(k, leaf);
        const StackEnd old_end = end_;
        Position caller{frame->pc, frame->rsp, frame->rbp, frame->flags & Frame::kIsExact};
        const bool has_caller = Step(&caller, &frames_[k]);
        if (has_caller && k > 0 && IsAt(frames_[k - 1], caller)) {
          --k;
          continue;
        }
        if (!has_caller && k == 0 && end_ == old_end) return Place(leaf + 1);
        if (!MoveToFresh(leaf, k)) return Place(0);
        if (!has_caller) return Place(0);
        at = caller;
        candidates = k;
        break;
      }
      continue;
    }

    if (fresh_count_ == kMaxDepth) [[unlikely]] {
      StopAt(StackEnd::kDepthCap, fresh_[kMaxDepth - 1].rsp);
      return Place(0);
    }
    Frame& frame = fresh_[fresh_count_];
    const bool has_caller = Step(&at, &frame);
    if (frame.entry == nullptr) [[unlikely]]
      return Place(0);  // kTableFull: there is no place for its id
    ++fresh_count_;
    if (!has_caller) return Place(0);
    if (kHasStop && stop_address >= frame.rsp && stop_address < at.rsp && !frame.is_trampoline()) {
      StopAt(StackEnd::kStopAddress, at.rsp);
      return Place(0);
    }
    if (frame.is_trampoline()) [[unlikely]]
      candidates = depth_;  // another stack: look at all of them again
  }
}

// Before frame `index` is stepped again: what is known to be readable is the word below its rsp, where its
// callee's return address was read. Not so above a signal, whose rsp comes from saved registers.
void StackWalker::EnterFrame(uint32_t index, uint32_t leaf_most) {
  if (index == leaf_most) return;
  known_page_ = frames_[index + 1].is_trampoline() ? kNoPage : PageOf(frames_[index].rsp - sizeof(uintptr_t));
}

// The walk ends here. Until then end_ and its companions describe the remembered stack, which may yet prove
// to be right.
bool StackWalker::StopAt(StackEnd end, uintptr_t root_cfa) {
  end_ = end;
  root_is_final_ = false;
  root_cfa_ = root_cfa;
  return false;
}

// Frames [to_root, from_leaf] are still right, but what is below them in the array is not. False at the depth
// cap.
bool StackWalker::MoveToFresh(uint32_t from_leaf, uint32_t to_root) {
  for (uint32_t i = from_leaf + 1; i-- > to_root;) {
    if (fresh_count_ == kMaxDepth) {
      return StopAt(StackEnd::kDepthCap, fresh_[kMaxDepth - 1].rsp);
    }
    Copy(&fresh_[fresh_count_++], frames_[i]);
  }
  return true;
}

// Puts the fresh frames above the `kept` ones and drops the root side beyond the cap. Returns how many are
// unchanged.
uint32_t StackWalker::Place(uint32_t kept) {
  uint32_t unchanged = kept;
  if (kept + fresh_count_ > kMaxDepth) [[unlikely]] {
    const uint32_t dropped = kept + fresh_count_ - kMaxDepth;
    StopAt(StackEnd::kDepthCap, frames_[dropped - 1].rsp);
    for (uint32_t i = dropped; i < kept; ++i) Copy(&frames_[i - dropped], frames_[i]);
    kept -= dropped;
    unchanged = 0;
  }
  for (uint32_t i = fresh_count_; i-- > 0;) Copy(&frames_[kept++], fresh_[i]);
  depth_ = kept;
  return unchanged;
}

// Describes the frame at `at` and moves `at` to its caller. False at the end of the stack, with end_ saying
// why.
PLATEAU_READS_STACK [[gnu::always_inline]] inline bool StackWalker::Step(Position* at, Frame* frame) {
  RuleEntry* entry = rules_->Find(at->code_address());
  frame->pc = at->pc;
  frame->rsp = at->rsp;
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
        cfa > at->rsp && cfa <= own_.end && cfa % sizeof(uintptr_t) == 0 && slot >= at->rsp - kRedZoneBytes &&
        slot <= cfa) [[likely]] {
      const auto* return_slot = reinterpret_cast<const uintptr_t*>(cfa) - 1;
      frame->return_slot = return_slot;
      at->pc = Load(return_slot);
      at->rsp = cfa;
      at->exact = 0;
      const auto* rbp_slot = slot == cfa ? &frame->rbp : reinterpret_cast<const uintptr_t*>(slot);
      frame->rbp_slot = rbp_slot;
      if (slot != cfa) at->rbp = Load(rbp_slot);
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
[[gnu::noinline]] bool StackWalker::StepSlow(Position* at, Frame* frame) {
  frame->return_slot = &kNeverEqual;
  frame->rbp_slot = &frame->rbp;
  frame->flags |= Frame::kNeedsStep;
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
             caller.is_exact ? Frame::kIsExact : 0u};
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

bool StackWalker::StepBySlots(Position* at, uintptr_t cfa, uintptr_t rbp_slot, Frame* frame) {
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
    frame->flags &= ~uint32_t{Frame::kNeedsStep};
    if (!own) has_foreign_frames_ = true;
    frame->return_slot = reinterpret_cast<const uintptr_t*>(cfa) - 1;
    if (rbp_slot != 0) frame->rbp_slot = reinterpret_cast<const uintptr_t*>(rbp_slot);
  }
  *at = caller;
  known_page_ = PageOf(cfa - sizeof(uintptr_t));
  return at->pc >= kLowestCode || StopAt(EndAtLowAddress(at->pc), cfa);
}

bool StackWalker::StepOverSignal(Position* at, Frame* frame) {
  bool probed = false;
  Position caller{0, 0, 0, Frame::kIsExact};
  frame->flags |= Frame::kIsTrampoline;
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

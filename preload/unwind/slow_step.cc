// Steps of StackWalker that are rare: other kinds of rules, other stacks than the thread's own, ends.
#include <cstdint>

#include "preload/base/raw_memory.h"
#include "preload/unwind/full_step.h"
#include "preload/unwind/signal_frame.h"
#include "preload/unwind/stack_walker.h"
#include "preload/unwind/stack_words.h"

namespace plateau::unwind {

bool StackWalker::StepSlow(Position* at, FreshFrame* frame) {
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
  const uintptr_t return_slot = ReturnSlotBy(frame->entry->rule, cfa);
  bool probed = false;
  Position caller{0, cfa, at->rbp, 0};
  GiveReturnSlot(return_slot, &caller);
  if (!inside || (kReturnSlotsVary && return_slot < at->rsp) ||
      !ReadWord(return_slot, at->rsp, &caller.pc, &probed) ||
      (rbp_slot != 0 && (rbp_slot >= cfa || !ReadWord(rbp_slot, at->rsp, &caller.rbp, &probed)))) {
    return StopAt(StackEnd::kOutOfStack, at->rsp);
  }
  caller.pc = ReturnAddressIn(caller.pc);
  const RuleKind kind = frame->entry->rule.kind;
  if (!probed && (kind == RuleKind::kRsp || kind == RuleKind::kRbp)) {
    frame->flags &= ~uint32_t{kNeedsStep};
    if (!own) has_foreign_frames_ = true;
  }
  *at = caller;
  known_page_ = PageOf(return_slot);
  return at->pc >= kLowestCode || StopAt(EndAtLowAddress(at->pc), cfa);
}

bool StackWalker::StepOverSignal(Position* at, FreshFrame* frame) {
  bool probed = false;
  Position caller{0, 0, 0, kIsExact};
  frame->flags |= kIsTrampoline;
  if (!ReadWord(at->rsp + ContextOffset(kRegisterReturn), at->rsp, &caller.pc, &probed) ||
      !ReadWord(at->rsp + ContextOffset(kRegisterRsp), at->rsp, &caller.rsp, &probed) ||
      !ReadWord(at->rsp + ContextOffset(kRegisterRbp), at->rsp, &caller.rbp, &probed)) {
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

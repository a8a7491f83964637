// How to step from one code address to its caller, in 12 bytes: what the walker needs of a CFI row.
//
// A rule is derived once per code address and then kept in the rule table. Nearly all compiled code needs
// only kRsp and kRbp; whatever does not fit is kComplex and takes the slow step (full_step.h). Allocates:
// never. Locks: never. Damaged tables give kNoCfi.
#ifndef PLATEAU_PRELOAD_UNWIND_CFI_RULE_H_
#define PLATEAU_PRELOAD_UNWIND_CFI_RULE_H_

#include <cstdint>

#include "preload/unwind/cfi_row.h"
#include "preload/unwind/loaded_object.h"

namespace plateau::unwind {

enum class RuleKind : uint8_t {
  kNoObject,    // no loaded object has this address: generated code, or not code at all
  kNoCfi,       // an object has it, without (sound) unwind information
  kComplex,     // has unwind information that this struct cannot hold
  kOutermost,   // the CFI says that there is no caller
  kSignal,      // the kernel's signal trampoline: the caller's registers are in the ucontext at rsp
  kRsp,         // CFA = rsp + cfa_offset
  kRbp,         // CFA = rbp + cfa_offset
  kRealignRsp,  // CFA = *(rsp + cfa_offset) + cfa_addend: code that aligned its stack
  kRealignRbp,  // CFA = *(rbp + cfa_offset) + cfa_addend
};

// x86-64: the return address is always at CFA - 8 (other layouts are kComplex). AArch64: where the function saved x30.
struct CfiRule {
  int32_t cfa_offset = 0;
  int16_t rbp_slot = 0;  // the caller's rbp is at CFA + 8 * rbp_slot; 0: rbp is unchanged
  RuleKind kind = RuleKind::kNoObject;
  bool rbp_slot_from_rbp = false;  // only realign kinds: the slot counts from rbp, and 0 is a slot
  int16_t cfa_addend = 0;
  int16_t return_slot = -1;  // the return address is at CFA + 8 * return_slot
};
static_assert(sizeof(CfiRule) == 12);

// The rule of the instruction at `address`, by the tables of the object that holds it.
CfiRule MakeRule(uintptr_t address);

// The same from a row that has been found; `address` matters for rows that compute with the pc (PLT entries).
CfiRule RuleFromRow(const CfiRow& row, uintptr_t address);

// The row of `address` and the object that holds it. kNoEntry also when there is no such object: `object` is
// then empty. Shared by MakeRule() and the slow step.
CfiStatus FindRow(uintptr_t address, LoadedObject* object, CfiRow* row);

// Whether the code at `address` is the kernel's return trampoline: mov $15,%rax (or %eax); syscall, or mov x8,#139;
// svc #0. All of it must lie in a readable segment of `object`. An empty object stands for none: emulators keep the
// trampoline of AArch64 in a page of their own, and then the kernel is asked whether it can be read.
bool IsSignalTrampoline(const LoadedObject& object, uintptr_t address);

#if defined(__aarch64__)
// Whether a signal that came at this instruction interrupted an entry of .plt: the caller's address is in x30 then, and
// the stack pointer is the caller's.
bool IsPltEntry(const LoadedObject& object, uintptr_t address);
#endif

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_CFI_RULE_H_

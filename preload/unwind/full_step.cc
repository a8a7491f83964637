#include "preload/unwind/full_step.h"

#include <cstdint>

#include "preload/unwind/cfi_row.h"
#include "preload/unwind/cfi_rule.h"
#include "preload/unwind/registers.h"
#include "preload/unwind/signal_frame.h"

namespace plateau::unwind {
namespace {

bool ComputeCfa(const CfiRow& row, const RegisterFile& registers, WordReader* memory, uint64_t* cfa) {
  switch (row.cfa_rule) {
    case CfaRule::kRegister:
      if (!registers.Knows(row.cfa_register)) return false;
      *cfa = registers.values[row.cfa_register] + static_cast<uint64_t>(row.cfa_value);
      return true;
    case CfaRule::kExpression:
      return EvaluateExpression(ExpressionAt(row, row.cfa_value), registers, false, 0, memory, cfa);
    default:
      return false;
  }
}

// The caller's value of one register; false when it is lost.
bool Restore(const CfiRow& row, unsigned number, const RegisterFile& registers, uint64_t cfa,
             WordReader* memory, uint64_t* value) {
  const int64_t operand = row.values[number];
  switch (row.rules[number]) {
    case RegisterRule::kUnchanged:
      if (number == kRegisterRsp) {
        *value = cfa;
        return true;
      }
      *value = registers.values[number];
      return registers.Knows(number) && ((kPreservedRegisters >> number) & 1) != 0;
    case RegisterRule::kAtCfa:
      return memory->Read(cfa + static_cast<uint64_t>(operand), value);
    case RegisterRule::kIsCfa:
      *value = cfa + static_cast<uint64_t>(operand);
      return true;
    case RegisterRule::kInRegister:
      if (!registers.Knows(static_cast<uint64_t>(operand))) return false;
      *value = registers.values[operand];
      return true;
    case RegisterRule::kAtExpression: {
      uint64_t address = 0;
      return EvaluateExpression(ExpressionAt(row, operand), registers, true, cfa, memory, &address) &&
             memory->Read(address, value);
    }
    case RegisterRule::kIsExpression:
      return EvaluateExpression(ExpressionAt(row, operand), registers, true, cfa, memory, value);
    default:
      return false;
  }
}

bool StepOverSignal(RegisterFile* registers, WordReader* memory) {
  const uint64_t context = registers->values[kRegisterRsp];
  RegisterFile interrupted;
  for (unsigned number = 0; number < kRegisterCount; ++number) {
    uint64_t value = 0;
    if (!memory->Read(context + ContextOffset(number), &value)) return false;
    interrupted.Set(number, value);
  }
  *registers = interrupted;
  return true;
}

}  // namespace

bool FullStep(RegisterFile* registers, bool* is_exact, WordReader* memory) {
  if (!registers->Knows(kRegisterReturn) || !registers->Knows(kRegisterRsp)) return false;
  const uint64_t address = registers->values[kRegisterReturn] - (*is_exact ? 0 : 1);
  LoadedObject object;
  CfiRow row;
  const CfiStatus status = FindRow(address, &object, &row);
  if (object.end == 0) {
#if defined(__aarch64__)
    if (IsSignalTrampoline(object, address + 1)) {
      *is_exact = true;
      return StepOverSignal(registers, memory);
    }
#endif
    return false;
  }
  if ((status == CfiStatus::kNoEntry || row.is_signal_frame) &&
      (IsSignalTrampoline(object, address + 1) || IsSignalTrampoline(object, address))) {
    *is_exact = true;
    return StepOverSignal(registers, memory);
  }
#if defined(__aarch64__)
  if (status == CfiStatus::kNoEntry && *is_exact && registers->Knows(kReturnColumn) &&
      IsPltEntry(object, address)) {
    registers->Set(kRegisterReturn, ReturnAddressIn(registers->values[kReturnColumn]));
    registers->Forget(kReturnColumn);
    *is_exact = false;
    return true;
  }
#endif
  if (status != CfiStatus::kFound) return false;
  uint64_t cfa = 0;
  if (!ComputeCfa(row, *registers, memory, &cfa)) return false;
  RegisterFile caller;
  for (unsigned number = 0; number < kRegisterCount; ++number) {
    uint64_t value = 0;
    if (Restore(row, number, *registers, cfa, memory, &value)) caller.Set(number, value);
  }
#if defined(__aarch64__)
  // The link register has done its duty: the caller must have saved its own. Before it is saved, which only an interrupted
  // function can be, it is in place still.
  uint64_t link = 0;
  caller.Forget(kReturnColumn);
  caller.Forget(kRegisterReturn);
  const RegisterRule rule = row.rules[kReturnColumn];
  if (rule == RegisterRule::kUnchanged && *is_exact && registers->Knows(kReturnColumn)) {
    caller.Set(kRegisterReturn, ReturnAddressIn(registers->values[kReturnColumn]));
  } else if (rule != RegisterRule::kUnchanged &&
             Restore(row, kReturnColumn, *registers, cfa, memory, &link)) {
    caller.Set(kRegisterReturn, ReturnAddressIn(link));
  }
#endif
  *registers = caller;
  *is_exact = false;
  return registers->Knows(kRegisterReturn) && registers->Knows(kRegisterRsp);
}

[[gnu::noinline]] bool StepWithAllRegisters(const Registers& frame, CallerState* caller) {
  uint64_t here[kRegisterCount] = {};
#if defined(__x86_64__)
  asm volatile(
      "movq %%rbx, 24(%0)\n\t"
      "movq %%rbp, 48(%0)\n\t"
      "movq %%rsp, 56(%0)\n\t"
      "movq %%r12, 96(%0)\n\t"
      "movq %%r13, 104(%0)\n\t"
      "movq %%r14, 112(%0)\n\t"
      "movq %%r15, 120(%0)\n\t"
      "leaq 0(%%rip), %%rax\n\t"
      "movq %%rax, 128(%0)"
      :
      : "r"(here)
      : "rax", "memory");
#elif defined(__aarch64__)
  uint64_t scratch;
  asm volatile(
      "stp x19, x20, [%1, #152]\n\t"
      "stp x21, x22, [%1, #168]\n\t"
      "stp x23, x24, [%1, #184]\n\t"
      "stp x25, x26, [%1, #200]\n\t"
      "stp x27, x28, [%1, #216]\n\t"
      "str x29, [%1, #232]\n\t"
      "mov %0, sp\n\t"
      "str %0, [%1, #248]\n\t"
      "adr %0, .\n\t"
      "str %0, [%1, #256]"
      : "=&r"(scratch)
      : "r"(here)
      : "memory");
#else
  return false;
#endif
  RegisterFile registers;
  for (unsigned number = 0; number < kRegisterCount; ++number) {
    if (((kPreservedRegisters >> number) & 1) != 0 || number == kRegisterRsp || number == kRegisterReturn) {
      registers.Set(number, here[number]);
    }
  }
  WordReader memory;
  bool is_exact = true;
  for (unsigned i = 0; i < kMaxFullSteps; ++i) {
    const bool reached =
        registers.values[kRegisterReturn] == frame.rip && registers.values[kRegisterRsp] == frame.rsp;
    if (!FullStep(&registers, &is_exact, &memory)) return false;
    if (!reached) continue;
    caller->registers = {registers.values[kRegisterReturn], registers.values[kRegisterRsp],
                         registers.Knows(kRegisterRbp) ? registers.values[kRegisterRbp] : 0};
    caller->is_exact = is_exact;
    return true;
  }
  return false;
}

}  // namespace plateau::unwind

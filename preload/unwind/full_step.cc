#include "preload/unwind/full_step.h"

#include <cstdint>

#include "preload/unwind/cfi_row.h"
#include "preload/unwind/cfi_rule.h"
#include "preload/unwind/signal_frame.h"

namespace plateau::unwind {
namespace {

// rbx, rbp, r12-r15: what a function gives back to its caller as it was.
constexpr uint32_t kPreserved = (1u << 3) | (1u << 6) | (1u << 12) | (1u << 13) | (1u << 14) | (1u << 15);

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
      return registers.Knows(number) && ((kPreserved >> number) & 1) != 0;
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
    if (!memory->Read(context + kContextOffsets[number], &value)) return false;
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
  if (object.end == 0) return false;
  if ((status == CfiStatus::kNoEntry || row.is_signal_frame) &&
      (IsSignalTrampoline(object, address + 1) || IsSignalTrampoline(object, address))) {
    *is_exact = true;
    return StepOverSignal(registers, memory);
  }
  if (status != CfiStatus::kFound) return false;
  uint64_t cfa = 0;
  if (!ComputeCfa(row, *registers, memory, &cfa)) return false;
  RegisterFile caller;
  for (unsigned number = 0; number < kRegisterCount; ++number) {
    uint64_t value = 0;
    if (Restore(row, number, *registers, cfa, memory, &value)) caller.Set(number, value);
  }
  *registers = caller;
  *is_exact = false;
  return registers->Knows(kRegisterReturn) && registers->Knows(kRegisterRsp);
}

[[gnu::noinline]] bool StepWithAllRegisters(const Registers& frame, CallerState* caller) {
#if defined(__x86_64__)
  uint64_t here[kRegisterCount] = {};
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
  RegisterFile registers;
  for (unsigned number = 0; number < kRegisterCount; ++number) {
    if (((kPreserved >> number) & 1) != 0 || number == kRegisterRsp || number == kRegisterReturn) {
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
#endif
  (void)frame;
  (void)caller;
  return false;
}

}  // namespace plateau::unwind

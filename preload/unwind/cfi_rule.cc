#include "preload/unwind/cfi_rule.h"

#include <cstdint>
#include <cstring>
#include <limits>

#include "preload/base/raw_memory.h"
#include "preload/unwind/loaded_object.h"

namespace plateau::unwind {
namespace {

// DWARF expression operations that the compact rule understands.
constexpr uint8_t kOpDeref = 0x06;
constexpr uint8_t kOpPlusUconst = 0x23;
constexpr uint8_t kOpBreg0 = 0x70;

constexpr int64_t kMaxFrameBytes = int64_t{1} << 30;

bool FitsInt16(int64_t value) {
  return value >= std::numeric_limits<int16_t>::min() && value <= std::numeric_limits<int16_t>::max();
}

// `register + offset`, and nothing else.
bool IsRegisterPlusOffset(ByteReader expression, unsigned number, int64_t* offset) {
  if (expression.Read<uint8_t>() != kOpBreg0 + number) return false;
  *offset = expression.ReadSleb();
  return expression.ok() && expression.AtEnd();
}

// What linkers write for .plt: CFA = rsp + 8 + ((rip & 15) >= 11) * 8. A constant, once the address is known.
bool IsPltExpression(ByteReader expression, uint8_t* threshold) {
  static constexpr uint8_t kBefore[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a};  // breg7 8; breg16 0; lit15; and
  static constexpr uint8_t kAfter[] = {0x2a, 0x33, 0x24, 0x22};               // ge; lit3; shl; plus
  if (expression.remaining() != sizeof(kBefore) + 1 + sizeof(kAfter)) return false;
  const uint8_t* bytes = expression.position();
  if (std::memcmp(bytes, kBefore, sizeof(kBefore)) != 0) return false;
  if (std::memcmp(bytes + sizeof(kBefore) + 1, kAfter, sizeof(kAfter)) != 0) return false;
  const uint8_t literal = bytes[sizeof(kBefore)];  // lit0..lit15 are 0x30..0x3f
  if (literal < 0x30 || literal > 0x3f) return false;
  *threshold = literal - 0x30;
  return true;
}

// `*(register + offset)` or `*(register + offset) + constant`, for rsp and rbp.
bool SetRealign(ByteReader expression, CfiRule* rule) {
  const uint8_t op = expression.Read<uint8_t>();
  if (op == kOpBreg0 + kRegisterRsp) {
    rule->kind = RuleKind::kRealignRsp;
  } else if (op == kOpBreg0 + kRegisterRbp) {
    rule->kind = RuleKind::kRealignRbp;
  } else {
    return false;
  }
  const int64_t offset = expression.ReadSleb();
  if (expression.Read<uint8_t>() != kOpDeref || !expression.ok()) return false;
  uint64_t addend = 0;
  if (!expression.AtEnd()) {
    if (expression.Read<uint8_t>() != kOpPlusUconst) return false;
    addend = expression.ReadUleb();
    if (!expression.ok() || !expression.AtEnd()) return false;
  }
  if (offset < -kMaxFrameBytes || offset > kMaxFrameBytes || addend > 4096) return false;
  rule->cfa_offset = static_cast<int32_t>(offset);
  rule->cfa_addend = static_cast<int16_t>(addend);
  return true;
}

bool SetCfa(const CfiRow& row, uintptr_t address, CfiRule* rule) {
  if (row.cfa_rule == CfaRule::kRegister) {
    if (row.cfa_value < -kMaxFrameBytes || row.cfa_value > kMaxFrameBytes) return false;
    rule->cfa_offset = static_cast<int32_t>(row.cfa_value);
    if (row.cfa_register == kRegisterRsp) {
      rule->kind = RuleKind::kRsp;
      return row.cfa_value >= 8;  // at least the return address lies between the stack pointer and the CFA
    }
    rule->kind = RuleKind::kRbp;
    return row.cfa_register == kRegisterRbp;
  }
  if (row.cfa_rule != CfaRule::kExpression) return false;
  const ByteReader expression = ExpressionAt(row, row.cfa_value);
  uint8_t threshold = 0;
  if (IsPltExpression(expression, &threshold)) {
    rule->kind = RuleKind::kRsp;
    rule->cfa_offset = (address & 15) >= threshold ? 16 : 8;
    return true;
  }
  return SetRealign(expression, rule);
}

bool SetRbp(const CfiRow& row, CfiRule* rule) {
  const bool realigned = rule->kind == RuleKind::kRealignRsp || rule->kind == RuleKind::kRealignRbp;
  int64_t offset = 0;
  switch (row.rules[kRegisterRbp]) {
    case RegisterRule::kUnchanged:
      return true;
    case RegisterRule::kAtCfa:
      offset = row.values[kRegisterRbp];
      if (offset == 0) return false;
      break;
    case RegisterRule::kAtExpression:
      if (!realigned ||
          !IsRegisterPlusOffset(ExpressionAt(row, row.values[kRegisterRbp]), kRegisterRbp, &offset)) {
        return false;
      }
      rule->rbp_slot_from_rbp = true;
      break;
    default:
      return false;
  }
  if (offset % 8 != 0 || !FitsInt16(offset / 8)) return false;
  rule->rbp_slot = static_cast<int16_t>(offset / 8);
  return true;
}

bool SetReturnSlot(const CfiRow& row, CfiRule* rule) {
  if (row.rules[kReturnColumn] != RegisterRule::kAtCfa) return false;
  const int64_t offset = row.values[kReturnColumn];
#if defined(__aarch64__)
  if (offset >= 0 || offset % 8 != 0 || !FitsInt16(offset / 8)) return false;
  rule->return_slot = static_cast<int16_t>(offset / 8);
  return true;
#else
  return offset == 8 * int64_t{rule->return_slot};
#endif
}

bool CodeIs(const LoadedObject& object, uintptr_t address, const uint8_t* bytes, size_t count) {
  const auto* code = reinterpret_cast<const uint8_t*>(address);
  const ByteSpan readable = ReadableAround(object, code);
  return readable.Contains(code) && static_cast<size_t>(readable.end - code) >= count &&
         std::memcmp(code, bytes, count) == 0;
}

// Where a function started by makecontext() returns to: the first byte of code that takes the next context
// from the stack. It has no unwind information, on purpose: mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi on
// x86-64. On AArch64 the same goes for the first function of a thread, which returns to a call of exit.
bool IsContextRoot(const LoadedObject& object, uintptr_t address) {
#if defined(__aarch64__)
  static constexpr uint8_t kExit[] = {0xa8, 0x0b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};  // mov x8, #93; svc #0
  if (CodeIs(object, address, kExit, sizeof(kExit))) return true;
  // mov x0, x19; cbnz x0, ... as glibc has it, behind a landing pad (bti c), a nop or nothing.
  static constexpr uint8_t kLandingPad[] = {0x5f, 0x24, 0x03, 0xd5};
  static constexpr uint8_t kNop[] = {0x1f, 0x20, 0x03, 0xd5};
  static constexpr uint8_t kMove[] = {0xe0, 0x03, 0x13, 0xaa};
  if (CodeIs(object, address, kLandingPad, sizeof(kLandingPad)) ||
      CodeIs(object, address, kNop, sizeof(kNop)))
    address += sizeof(kNop);
  if (!CodeIs(object, address, kMove, sizeof(kMove))) return false;
  const uintptr_t branch = address + sizeof(kMove);
  const uint8_t last = 0xb5;
  uint8_t target;
  return CodeIs(object, branch + 3, &last, 1) &&
         (std::memcpy(&target, reinterpret_cast<const void*>(branch), 1), (target & 0x1f) == 0);
#else
  static constexpr uint8_t kStart[] = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff};
  return CodeIs(object, address, kStart, sizeof(kStart));
#endif
}

}  // namespace

CfiRule RuleFromRow(const CfiRow& row, uintptr_t address) {
  CfiRule rule;
  if (row.rules[kReturnColumn] == RegisterRule::kUndefined) {
    rule.kind = RuleKind::kOutermost;
    return rule;
  }
  const bool rsp_is_cfa = row.rules[kRegisterRsp] == RegisterRule::kUnchanged;
  if (SetReturnSlot(row, &rule) && rsp_is_cfa && SetCfa(row, address, &rule) && SetRbp(row, &rule))
    return rule;
  rule = CfiRule{};
  rule.kind = RuleKind::kComplex;
  return rule;
}

CfiStatus FindRow(uintptr_t address, LoadedObject* object, CfiRow* row) {
  if (!FindLoadedObject(address, object)) {
    *object = LoadedObject{};
    return CfiStatus::kNoEntry;
  }
  if (object->eh_frame_hdr == nullptr) return CfiStatus::kNoEntry;
  return FindCfiRow(ReadableAround(*object, object->eh_frame_hdr), object->eh_frame_hdr, address, row);
}

#if defined(__aarch64__)
// adrp x16, ...; ldr x17, [x16, ...]; add x16, x16, ...; br x17: what linkers write for .plt, without unwind information.
bool IsPltEntry(const LoadedObject& object, uintptr_t address) {
  const auto* code = reinterpret_cast<const uint8_t*>(address);
  const ByteSpan readable = ReadableAround(object, code);
  uint32_t word;
  if (address % sizeof(word) != 0 || !readable.Contains(code) ||
      static_cast<size_t>(readable.end - code) < sizeof(word)) {
    return false;
  }
  std::memcpy(&word, code, sizeof(word));
  return (word & 0x9f00001f) == 0x90000010 || (word & 0xffc003ff) == 0xf9400211 ||
         (word & 0xffc003ff) == 0x91000210 || word == 0xd61f0220;
}
#endif

bool IsSignalTrampoline(const LoadedObject& object, uintptr_t address) {
#if defined(__aarch64__)
  static constexpr uint8_t kCode[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
  if (address % 4 != 0) return false;
  if (object.end != 0) return CodeIs(object, address, kCode, sizeof(kCode));
  const uintptr_t word = address & ~uintptr_t{7};
  return IsReadable(word) && IsReadable(word + 8) &&
         std::memcmp(reinterpret_cast<const void*>(address), kCode, sizeof(kCode)) == 0;
#else
  static constexpr uint8_t kMovRax[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  static constexpr uint8_t kMovEax[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
  return CodeIs(object, address, kMovRax, sizeof(kMovRax)) ||
         CodeIs(object, address, kMovEax, sizeof(kMovEax));
#endif
}

CfiRule MakeRule(uintptr_t address) {
  LoadedObject object;
  CfiRow row;
  CfiRule rule;
  const CfiStatus status = FindRow(address, &object, &row);
  if (object.end == 0) {
#if defined(__aarch64__)
    if (IsSignalTrampoline(object, address + 1)) rule.kind = RuleKind::kSignal;
#endif
    return rule;  // kNoObject
  }
  rule.kind = RuleKind::kNoCfi;
  const bool may_be_trampoline = status == CfiStatus::kNoEntry || row.is_signal_frame;
  // A handler returns to the first byte of the trampoline, so a look-up one byte before a return address hits
  // the padding in front of it (glibc's FDE covers that byte for this reason).
  if (may_be_trampoline && (IsSignalTrampoline(object, address + 1) || IsSignalTrampoline(object, address))) {
    rule.kind = RuleKind::kSignal;
    return rule;
  }
  if (status == CfiStatus::kNoEntry && IsContextRoot(object, address + 1)) {
    rule.kind = RuleKind::kOutermost;
    return rule;
  }
#if defined(__aarch64__)
  if (status == CfiStatus::kNoEntry && IsPltEntry(object, address)) {
    rule.kind = RuleKind::kComplex;
    return rule;
  }
#endif
  switch (status) {
    case CfiStatus::kFound:
      return RuleFromRow(row, address);
    case CfiStatus::kUnsupported:
      rule.kind = RuleKind::kComplex;
      return rule;
    default:
      return rule;
  }
}

}  // namespace plateau::unwind

// What .eh_frame says about one instruction: where the frame begins and where the caller's registers are.
//
// FindCfiRow() looks an address up in an object's .eh_frame_hdr (binary search; linear scan of .eh_frame when
// there is no table), runs the call-frame program up to it and returns the row in full. Every read is checked
// against `readable`, so damaged or hostile tables end in kDamaged, never in a fault or an endless loop.
// Allocates: never. Locks: never. Stack use: under 2 KiB.
#ifndef PLATEAU_PRELOAD_UNWIND_CFI_ROW_H_
#define PLATEAU_PRELOAD_UNWIND_CFI_ROW_H_

#include <cstdint>

#include "preload/unwind/byte_reader.h"

namespace plateau::unwind {

// DWARF numbers of the registers that take part in unwinding. kRegisterReturn is where the frame continues, and
// kReturnColumn the register whose rule tells where the caller does.
#if defined(__aarch64__)
inline constexpr unsigned kRegisterRbp = 29;  // x29
inline constexpr unsigned kRegisterRsp = 31;  // sp
inline constexpr unsigned kRegisterReturn = 32;
inline constexpr unsigned kReturnColumn = 30;  // x30: a function saves it before it calls another
inline constexpr unsigned kRegisterCount = 33;
// x19-x29: what a function gives back to its caller as it was.
inline constexpr uint64_t kPreservedRegisters = 0x3ff80000;
#else
inline constexpr unsigned kRegisterRbx = 3;
inline constexpr unsigned kRegisterRbp = 6;
inline constexpr unsigned kRegisterRsp = 7;
inline constexpr unsigned kRegisterReturn = 16;
inline constexpr unsigned kReturnColumn = kRegisterReturn;
inline constexpr unsigned kRegisterCount = 17;
// rbx, rbp, r12-r15.
inline constexpr uint64_t kPreservedRegisters =
    (1u << 3) | (1u << 6) | (1u << 12) | (1u << 13) | (1u << 14) | (1u << 15);
#endif

enum class RegisterRule : uint8_t {
  kUnchanged,      // the caller's value is in the register still
  kUndefined,      // the value is gone; for the return address: this is the outermost frame
  kAtCfa,          // saved at CFA + value
  kIsCfa,          // equals CFA + value
  kInRegister,     // equals register `value`
  kAtExpression,   // saved at the address that the expression at `value` yields
  kIsExpression,   // equals what the expression yields
  kOutsideSubset,  // a rule that cannot be told in 32 bits
};

enum class CfaRule : uint8_t { kNone, kRegister, kExpression };

struct CfiRow {
  CfaRule cfa_rule = CfaRule::kNone;
  uint8_t cfa_register = 0;
  bool is_signal_frame = false;
  int64_t cfa_value = 0;  // offset, or for expressions: position relative to `expressions`
  RegisterRule rules[kRegisterCount] = {};
  int32_t values[kRegisterCount] = {};
  const uint8_t* expressions = nullptr;  // what positions count from
  ByteSpan readable;                     // what expressions may lie in
};

enum class CfiStatus : uint8_t {
  kFound,
  kNoEntry,      // the tables are sound and do not cover the address
  kUnsupported,  // sound as far as read, but uses something this parser does not know
  kDamaged,      // lengths or offsets that lead outside the tables
};

// `eh_frame_hdr` lies in `readable`, which spans the loaded segment(s) that hold .eh_frame_hdr and .eh_frame.
CfiStatus FindCfiRow(ByteSpan readable, const uint8_t* eh_frame_hdr, uintptr_t address, CfiRow* row);

// The expression at `position` of a row: a ULEB length and that many bytes. Empty when out of range.
ByteReader ExpressionAt(const CfiRow& row, int64_t position);

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_CFI_ROW_H_

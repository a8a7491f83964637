// The call-frame machine: runs the programs of a CIE and an FDE up to an address and leaves the row in force
// there.
//
// Programs are data from the object's file; they may be damaged. Reads stay inside the program, remembered
// rows are bounded, and unknown operations end in kUnsupported. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_UNWIND_CFI_MACHINE_H_
#define PLATEAU_PRELOAD_UNWIND_CFI_MACHINE_H_

#include <cstdint>
#include <limits>

#include "preload/unwind/byte_reader.h"
#include "preload/unwind/cfi_row.h"

namespace plateau::unwind {

// Pointer encodings of .eh_frame (DW_EH_PE_*).
inline constexpr uint8_t kEncodingOmit = 0xff;
inline constexpr uint8_t kEncodingFormat = 0x0f;
inline constexpr uint8_t kEncodingBase = 0x70;
inline constexpr uint8_t kEncodingPcRelative = 0x10;
inline constexpr uint8_t kEncodingDataRelative = 0x30;
inline constexpr uint8_t kEncodingIndirect = 0x80;
inline constexpr uint8_t kEncodingTable =
    kEncodingDataRelative | 0x0b;  // signed 4 bytes from the header's start

// Reads a pointer written with one of these encodings; 0 with a failed reader when the encoding is not known.
uint64_t ReadEncoded(ByteReader* reader, uint8_t encoding, const uint8_t* data_base);

// What an FDE needs of its CIE.
struct Cie {
  uint64_t code_align = 1;
  int64_t data_align = 1;
  uint8_t pointer_encoding = 0;
  bool has_augmentation_data = false;
  bool is_signal_frame = false;
  ByteReader program;
};

inline constexpr unsigned kMaxRememberedRows = 4;  // compilers need one

// The call-frame machine. Runs the CIE's program, remembers the row, then the FDE's up to the wanted address.
class CfiMachine {
 public:
  CfiMachine(const Cie& cie, uintptr_t begin, uintptr_t target, CfiRow* row)
      : cie_(cie), row_(*row), location_(begin), target_(target) {}

  CfiStatus Run(ByteReader fde_program) {
    initial_ = row_;
    CfiStatus status = Execute(cie_.program);
    if (status != CfiStatus::kFound) return status;
    initial_ = row_;
    return Execute(fde_program);
  }

 private:
  // A remembered row without what never changes.
  struct Remembered {
    CfaRule cfa_rule;
    uint8_t cfa_register;
    int64_t cfa_value;
    RegisterRule rules[kRegisterCount];
    int32_t values[kRegisterCount];
  };

  void SetRule(uint64_t number, RegisterRule rule, int64_t value = 0) {
    if (number >= kRegisterCount) return;  // vector and segment registers: nothing is unwound by them
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
      rule = RegisterRule::kOutsideSubset;
      value = 0;
    }
    row_.rules[number] = rule;
    row_.values[number] = static_cast<int32_t>(value);
  }

  void Restore(uint64_t number) {
    if (number >= kRegisterCount) return;
    row_.rules[number] = initial_.rules[number];
    row_.values[number] = initial_.values[number];
  }

  int64_t Factored(uint64_t value) const {
    return static_cast<int64_t>(value * static_cast<uint64_t>(cie_.data_align));
  }

  void SetCfa(uint64_t number, int64_t value) {
    row_.cfa_rule = number < kRegisterReturn ? CfaRule::kRegister : CfaRule::kNone;
    row_.cfa_register = static_cast<uint8_t>(number);
    row_.cfa_value = value;
  }

  int64_t TakeExpression(ByteReader* program) {
    const int64_t position = program->position() - row_.expressions;
    program->Skip(program->ReadUleb());
    return position;
  }

  // True when the row of the target is complete.
  bool Advance(uint64_t delta) {
    location_ += delta * cie_.code_align;
    return location_ > target_;
  }

  CfiStatus Execute(ByteReader program) {
    while (!program.AtEnd()) {
      const uint8_t op = program.Read<uint8_t>();
      const uint8_t low = op & 0x3f;
      switch (op & 0xc0) {
        case 0x40:
          if (Advance(low)) return CfiStatus::kFound;
          continue;
        case 0x80:
          SetRule(low, RegisterRule::kAtCfa, Factored(program.ReadUleb()));
          continue;
        case 0xc0:
          Restore(low);
          continue;
        default:
          break;
      }
      bool done = false;
      const CfiStatus status = ExecuteExtended(op, &program, &done);
      if (status != CfiStatus::kFound) return status;
      if (done) return CfiStatus::kFound;
    }
    return program.ok() ? CfiStatus::kFound : CfiStatus::kDamaged;
  }

  CfiStatus ExecuteExtended(uint8_t op, ByteReader* program, bool* done);

  const Cie& cie_;
  CfiRow& row_;
  CfiRow initial_;
  Remembered remembered_[kMaxRememberedRows];
  unsigned remembered_count_ = 0;
  uint64_t location_;
  const uint64_t target_;
};

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_CFI_MACHINE_H_

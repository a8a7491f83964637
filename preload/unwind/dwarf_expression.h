// Evaluates the DWARF expressions that call-frame tables use.
//
// Memory is read only through the caller's reader, which may refuse. Loops are cut off after kMaxOperations.
// Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_UNWIND_DWARF_EXPRESSION_H_
#define PLATEAU_PRELOAD_UNWIND_DWARF_EXPRESSION_H_

#include <cstdint>

#include "preload/unwind/byte_reader.h"
#include "preload/unwind/cfi_row.h"

namespace plateau::unwind {

inline constexpr unsigned kMaxOperations = 256;
inline constexpr unsigned kMaxOperands = 32;

// Registers by DWARF number, with a bit per register whose value is known.
struct RegisterFile {
  uint64_t values[kRegisterCount] = {};
  uint64_t known = 0;

  bool Knows(uint64_t number) const { return number < kRegisterCount && ((known >> number) & 1) != 0; }
  void Set(unsigned number, uint64_t value) {
    values[number] = value;
    known |= uint64_t{1} << number;
  }
  void Forget(unsigned number) { known &= ~(uint64_t{1} << number); }
};

// Reads the 8 bytes at an address of the stack; false when they cannot be read.
class WordReader {
 public:
  bool Read(uint64_t address, uint64_t* value);

 private:
  uint64_t readable_page_ = 1;  // no page begins there
};

// False when the expression is damaged, too long, unknown, or needs a register or a word that is not to be
// had. `initial` is pushed first when `has_initial` (the CFA, for register rules).
bool EvaluateExpression(ByteReader expression, const RegisterFile& registers, bool has_initial,
                        uint64_t initial, WordReader* memory, uint64_t* result);

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_DWARF_EXPRESSION_H_

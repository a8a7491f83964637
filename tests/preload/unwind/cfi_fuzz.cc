// Any bytes as .eh_frame_hdr and .eh_frame: look an address up, make a rule, evaluate what expressions there
// are.
//
// Input: 4 bytes offset of the header, 4 bytes address (from the image's start), then the image.
#include <cstdint>
#include <cstring>
#include <memory>

#include "preload/unwind/cfi_rule.h"
#include "preload/unwind/dwarf_expression.h"

using namespace plateau::unwind;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 8) return 0;
  uint32_t header;
  int32_t address;
  std::memcpy(&header, data, 4);
  std::memcpy(&address, data + 4, 4);
  const size_t image_size = size - 8;
  const auto image = std::make_unique<uint8_t[]>(image_size);
  std::memcpy(image.get(), data + 8, image_size);
  const ByteSpan readable{image.get(), image.get() + image_size};
  const auto absolute = reinterpret_cast<uintptr_t>(image.get()) + static_cast<uintptr_t>(intptr_t{address});
  CfiRow row;
  const uint8_t* hdr = image.get() + (image_size == 0 ? 0 : header % image_size);
  if (FindCfiRow(readable, hdr, absolute, &row) != CfiStatus::kFound) return 0;
  volatile RuleKind kind = RuleFromRow(row, absolute).kind;
  (void)kind;
  RegisterFile registers;
  for (unsigned i = 0; i < kRegisterCount; ++i) registers.Set(i, reinterpret_cast<uintptr_t>(&registers));
  WordReader memory;
  uint64_t value = 0;
  if (row.cfa_rule == CfaRule::kExpression) {
    EvaluateExpression(ExpressionAt(row, row.cfa_value), registers, false, 0, &memory, &value);
  }
  for (unsigned i = 0; i < kRegisterCount; ++i) {
    if (row.rules[i] != RegisterRule::kAtExpression && row.rules[i] != RegisterRule::kIsExpression) continue;
    EvaluateExpression(ExpressionAt(row, row.values[i]), registers, true, value, &memory, &value);
  }
  return 0;
}

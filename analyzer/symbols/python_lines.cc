#include "analyzer/symbols/python_lines.h"

#include <cstddef>

namespace plateau::symbols {
namespace {

constexpr uint16_t kPython310 = 3 << 8 | 10;

uint8_t ByteAt(std::string_view table, size_t i) { return static_cast<uint8_t>(table[i]); }

// Until 3.9: a line begins `bytes` further on, `lines` later.
int LineOfLnotab(int line, std::string_view table, uint32_t offset) {
  uint32_t at = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    at += ByteAt(table, i);
    if (at > offset) break;
    line += static_cast<int8_t>(table[i + 1]);
  }
  return line;
}

// 3.10: the next `bytes` of code belong to the line `lines` later.
int LineOfRanges(int first_line, std::string_view table, uint32_t offset) {
  constexpr int8_t kNoLine = -128;
  int line = first_line;
  uint32_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    end += ByteAt(table, i);
    const int8_t delta = static_cast<int8_t>(table[i + 1]);
    if (delta != kNoLine) line += delta;
    if (offset < end) return delta == kNoLine ? first_line : line;
  }
  return line;
}

// 3.11 and later.
class LocationTable {
 public:
  LocationTable(int first_line, std::string_view table)
      : first_line_(first_line), line_(first_line), table_(table) {}

  int LineAt(uint32_t offset) {
    uint32_t end = 0;
    while (i_ < table_.size()) {
      const uint8_t head = ByteAt(table_, i_++);
      const int code = head >> 3 & 15;
      end += 2 * ((head & 7) + 1u);  // in units of two bytes
      Skip(code);
      if (offset < end) return code == kNoLocation ? first_line_ : line_;
    }
    return line_;
  }

 private:
  enum { kOneLine0 = 10, kOneLine2 = 12, kNoColumns = 13, kLong = 14, kNoLocation = 15 };

  // Reads the rest of an entry; the line moves, columns are passed over.
  void Skip(int code) {
    if (code < kOneLine0) {
      i_ += 1;
    } else if (code <= kOneLine2) {
      line_ += code - kOneLine0;
      i_ += 2;
    } else if (code == kNoColumns) {
      line_ += Signed();
    } else if (code == kLong) {
      line_ += Signed();
      Unsigned();
      Unsigned();
      Unsigned();
    }
  }

  uint32_t Unsigned() {
    uint32_t value = 0;
    for (unsigned shift = 0; i_ < table_.size(); shift += 6) {
      const uint8_t byte = ByteAt(table_, i_++);
      if (shift < 32) value |= static_cast<uint32_t>(byte & 63) << shift;
      if (!(byte & 64)) break;
    }
    return value;
  }
  int Signed() {
    const uint32_t value = Unsigned();
    const int magnitude = static_cast<int>(value >> 1);
    return value & 1 ? -magnitude : magnitude;
  }

  const int first_line_;
  int64_t line_;
  std::string_view table_;
  size_t i_ = 0;
};

}  // namespace

int PythonLine(uint16_t version, int first_line, std::string_view table, uint32_t offset) {
  constexpr uint32_t kBeforeFirstInstruction = 0xffffffff;  // preload/python/frames.h
  if (offset == kBeforeFirstInstruction) return first_line;
  if (table.empty()) return first_line;
  if (version < kPython310) return LineOfLnotab(first_line, table, offset);
  if (version == kPython310) return LineOfRanges(first_line, table, offset);
  return LocationTable(first_line, table).LineAt(offset);
}

}  // namespace plateau::symbols

#include "preload/python/line_table.h"

#include <algorithm>

namespace plateau::python {
namespace {

// The kind of an entry, bits 3 to 6 of its first byte. Bits 0 to 2 are how many units of code it is about,
// less one; bit 7 is set in no other byte.
enum EntryKind : uint8_t {
  kOneLine0 = 10,  // below: the same line, one byte of columns; up to kOneLine2: 0 to 2 lines on, two bytes
  kOneLine2 = 12,
  kNoColumns = 13,  // lines on, signed
  kLong = 14,       // lines on, signed; three numbers
  kNoLine = 15,
};
constexpr uint32_t kMostUnits = 8;

class Reader {
 public:
  explicit Reader(std::string_view table) : table_(table) {}

  struct Entry {
    bool has_line;
    int32_t lines_on;
    uint32_t units;
  };
  // False at the end, or when the table ends within the entry.
  bool Next(Entry* entry) {
    if (at_ >= table_.size()) return false;
    const auto head = static_cast<uint8_t>(table_[at_++]);
    const unsigned kind = head >> 3 & 15;
    *entry = {kind != kNoLine, 0, (head & 7) + 1u};
    if (kind < kOneLine0) {
      at_ += 1;
    } else if (kind <= kOneLine2) {
      entry->lines_on = static_cast<int32_t>(kind - kOneLine0);
      at_ += 2;
    } else if (kind != kNoLine) {
      const uint32_t number = Number();
      const auto magnitude = static_cast<int32_t>(number >> 1);
      entry->lines_on = number & 1 ? -magnitude : magnitude;
      for (int i = 0; kind == kLong && i < 3; ++i) Number();
    }
    return at_ <= table_.size();
  }

 private:
  // A number of six bits a byte, lowest first. The reader ends behind the table when that is cut.
  uint32_t Number() {
    uint32_t value = 0;
    for (unsigned shift = 0;; shift += 6) {
      const uint8_t byte = at_ < table_.size() ? static_cast<uint8_t>(table_[at_]) : 0;
      ++at_;
      if (shift < 32) value |= static_cast<uint32_t>(byte & 63) << shift;
      if (!(byte & 64)) return value;
    }
  }

  std::string_view table_;
  size_t at_ = 0;
};

class Writer {
 public:
  Writer(char* buffer, size_t capacity) : buffer_(buffer), capacity_(capacity) {}

  // False when the entry does not fit; nothing is written then.
  bool Put(const Reader::Entry& entry) {
    constexpr size_t kMostBytes = 1 + 6;
    int32_t lines_on = entry.lines_on;
    size_t size = size_;
    for (uint32_t left = entry.units; left > 0;) {
      if (capacity_ - size < kMostBytes) return false;
      const uint32_t units = std::min(left, kMostUnits);
      left -= units;
      buffer_[size++] = static_cast<char>(0x80 | (entry.has_line ? kNoColumns : kNoLine) << 3 | (units - 1));
      if (!entry.has_line) continue;
      const auto magnitude = static_cast<uint32_t>(lines_on < 0 ? -lines_on : lines_on);
      uint32_t number = magnitude << 1 | (lines_on < 0 ? 1 : 0);
      for (; number >= 64; number >>= 6) buffer_[size++] = static_cast<char>(64 | (number & 63));
      buffer_[size++] = static_cast<char>(number);
      lines_on = 0;
    }
    size_ = size;
    return true;
  }
  std::string_view written() const { return {buffer_, size_}; }

 private:
  char* buffer_;
  size_t capacity_;
  size_t size_ = 0;
};

}  // namespace

std::string_view WithoutColumns(std::string_view table, char* buffer, size_t capacity) {
  Reader reader(table);
  Writer writer(buffer, capacity);
  Reader::Entry run = {}, next;
  while (reader.Next(&next)) {
    const bool is_same = run.units > 0 && next.has_line == run.has_line && next.lines_on == 0;
    if (is_same) {
      run.units += next.units;
      continue;
    }
    if (!writer.Put(run)) return writer.written();
    run = next;
  }
  writer.Put(run);
  return writer.written();
}

}  // namespace plateau::python

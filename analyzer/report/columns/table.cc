#include "analyzer/report/columns/table.h"

#include <cassert>

namespace plateau::report {
namespace {

// Bytes of the well-formed sequence that starts at `at`; 0 when none does. The table is that of the Unicode standard.
size_t SequenceAt(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto continues = [&](size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80, high = first == 0xed ? 0x9f : 0xbf;
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80, high = first == 0xf4 ? 0x8f : 0xbf;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string ValidUtf8(std::string text) {
  size_t at = 0;
  while (at < text.size() && SequenceAt(text, at) > 0) at += SequenceAt(text, at);
  if (at == text.size()) return text;
  std::string out = text.substr(0, at);
  while (at < text.size()) {
    const size_t bytes = SequenceAt(text, at);
    if (bytes == 0) {
      out += "\xef\xbf\xbd";
      ++at;
    } else {
      out.append(text, at, bytes);
      at += bytes;
    }
  }
  return out;
}

bool Cell::Fits(ColumnType type) const {
  switch (type) {
    case ColumnType::kInteger:
      return std::holds_alternative<int64_t>(value_);
    case ColumnType::kReal:
      return std::holds_alternative<double>(value_);
    case ColumnType::kText:
      return std::holds_alternative<std::string>(value_);
  }
  return false;
}

Table::Table(std::string name, std::vector<ColumnSpec> columns) : name_(std::move(name)) {
  for (ColumnSpec& spec : columns) columns_.push_back({.spec = std::move(spec)});
}

void Table::Add(std::vector<Cell> row) {
  assert(row.size() == columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    const Cell& cell = row[i];
    column.is_null.push_back(cell.is_null());
    if (cell.is_null()) {
      assert(column.spec.may_be_null);
      continue;
    }
    assert(cell.Fits(column.spec.type));
    switch (column.spec.type) {
      case ColumnType::kInteger:
        column.integers.push_back(cell.integer());
        break;
      case ColumnType::kReal:
        column.reals.push_back(cell.real());
        break;
      case ColumnType::kText:
        column.texts.push_back(ValidUtf8(cell.text()));
        break;
    }
  }
  ++rows_;
}

}  // namespace plateau::report

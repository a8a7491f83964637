#include "analyzer/report/columns/table.h"

#include <cassert>

#include "analyzer/base/valid_utf8.h"

namespace plateau::report {
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

// A table in memory, column by column, before it becomes a file.
//
//   Table table("ranks", {{"rank", ColumnType::kInteger}, {"verdict", ColumnType::kText}, {"rate", ColumnType::kReal, true}});
//   table.Add({int64_t{3}, "slow_leak", std::monostate{}});
#ifndef PLATEAU_ANALYZER_REPORT_COLUMNS_TABLE_H_
#define PLATEAU_ANALYZER_REPORT_COLUMNS_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace plateau::report {

enum class ColumnType { kInteger, kReal, kText };

struct ColumnSpec {
  std::string name;
  ColumnType type;
  bool may_be_null = false;
};

class Cell {
 public:
  Cell(std::monostate) {}
  Cell(std::string text) : value_(std::move(text)) {}
  Cell(const char* text) : value_(std::string(text)) {}
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Cell(T number) {
    if constexpr (std::is_floating_point_v<T>) {
      value_ = static_cast<double>(number);
    } else {
      value_ = static_cast<int64_t>(number);
    }
  }
  template <typename T>
  Cell(const std::optional<T>& value) {
    if (value.has_value()) *this = Cell(*value);
  }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  int64_t integer() const { return std::get<int64_t>(value_); }
  double real() const { return std::get<double>(value_); }
  const std::string& text() const { return std::get<std::string>(value_); }
  bool Fits(ColumnType type) const;

 private:
  std::variant<std::monostate, int64_t, double, std::string> value_;
};

struct Column {
  ColumnSpec spec;
  std::vector<bool> is_null;  // by row
  // Values of rows that are not null, in the vector of the column's type. Texts are UTF-8: what is none was replaced.
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> texts;
};

class Table {
 public:
  Table(std::string name, std::vector<ColumnSpec> columns);

  // One cell for each column. A cell that does not fit its column is a mistake of the caller and fails an assertion.
  void Add(std::vector<Cell> row);

  const std::string& name() const { return name_; }
  size_t rows() const { return rows_; }
  const std::vector<Column>& columns() const { return columns_; }

 private:
  std::string name_;
  std::vector<Column> columns_;
  size_t rows_ = 0;
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_COLUMNS_TABLE_H_

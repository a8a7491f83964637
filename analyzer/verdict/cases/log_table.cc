#include "analyzer/verdict/cases/log_table.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "analyzer/verdict/cases/log_words.h"

namespace plateau::verdict {
namespace {

// Of the separators a line has, the one that is least likely to be part of a cell.
char SeparatorOf(absl::string_view line) {
  for (char separator : {'\t', ';', ','}) {
    if (line.find(separator) != absl::string_view::npos) return separator;
  }
  return ' ';
}

std::vector<std::string> SplitCells(absl::string_view line, char separator) {
  std::vector<std::string> cells;
  std::string cell;
  bool in_quotes = false;
  const auto end = [&] {
    const std::string stripped(absl::StripAsciiWhitespace(cell));
    if (separator != ' ' || !stripped.empty()) cells.push_back(stripped);
    cell.clear();
  };
  for (char c : line) {
    if (c == '"') {
      in_quotes = !in_quotes;
    } else if (!in_quotes && (c == separator || (separator == ' ' && c == '\t'))) {
      end();
    } else {
      cell += c;
    }
  }
  end();
  return cells;
}

// Two blanks or more between names of several words.
std::vector<std::string> SplitWideNames(absl::string_view line) {
  std::vector<std::string> names;
  for (absl::string_view part : absl::StrSplit(line, "  ", absl::SkipEmpty())) {
    part = absl::StripAsciiWhitespace(part);
    if (!part.empty()) names.emplace_back(part);
  }
  return names;
}

bool HasNumber(const std::vector<std::string>& cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [](const std::string& cell) { return ParseTime(cell).has_value(); });
}

// At least two cells are numbers or times.
bool IsData(const LogRow& row) {
  return std::count_if(row.cells.begin(), row.cells.end(),
                       [](const std::string& cell) { return ParseTime(cell).has_value(); }) >= 2;
}

std::string NamesText(const LogTable& table) {
  return absl::StrCat("\"", absl::StrJoin(table.names, "\", \""), "\"");
}

absl::StatusOr<size_t> MemoryColumn(const LogTable& table, const LogOptions& options) {
  if (!options.column.empty()) {
    const auto found = std::find(table.names.begin(), table.names.end(), options.column);
    if (found != table.names.end()) return static_cast<size_t>(found - table.names.begin());
    return absl::InvalidArgumentError(
        absl::StrCat("there is no column \"", options.column, "\" among ", NamesText(table)));
  }
  std::optional<size_t> best;
  bool is_tie = false;
  for (size_t i = 0; i < table.names.size(); ++i) {
    const ColumnMeaning meaning = MeaningOfColumn(table.names[i]);
    if (meaning.kind != ColumnKind::kMemory) continue;
    const int rank = best ? MeaningOfColumn(table.names[*best]).rank : 0;
    if (!best || meaning.rank < rank) {
      best = i;
      is_tie = false;
    } else if (meaning.rank == rank) {
      is_tie = true;
    }
  }
  if (!best) {
    return absl::InvalidArgumentError(absl::StrCat("none of the columns ", NamesText(table),
                                                   " is known as a memory size; --column NAME says which"));
  }
  if (is_tie) {
    return absl::InvalidArgumentError(
        absl::StrCat("several of the columns ", NamesText(table), " may be meant; --column NAME says which"));
  }
  return *best;
}

bool HasName(const LogTable& table, absl::string_view name) {
  return std::any_of(table.names.begin(), table.names.end(),
                     [&](const std::string& one) { return absl::EqualsIgnoreCase(one, name); });
}

// Units that a tool means and does not write.
std::optional<double> UnitOfTool(const LogTable& table, const std::string& column) {
  if (column == "mem_real" && HasName(table, "elapsed_time")) return 1024.0 * 1024;   // psrecord
  if (absl::EqualsIgnoreCase(column, "RSS") && HasName(table, "PID")) return 1024.0;  // ps
  return std::nullopt;
}

}  // namespace

LogTable SplitTable(std::string_view text) {
  LogTable table;
  char separator = 0;
  int number = 0;
  size_t data = 0, others = 0;
  for (absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    if (line[0] == '#') {
      const std::vector<std::string> names = SplitWideNames(line.substr(1));
      const bool is_first = table.names.empty() && table.rows.empty();
      if (is_first && names.size() >= 2) table.names = names;
      continue;
    }
    // A log may change its separator, as spreadsheets do when two are pasted together.
    const char own = SeparatorOf(line);
    if (separator == 0 || (own != ' ' && own != separator)) separator = own;
    LogRow row{number, std::string(line), SplitCells(line, own == ' ' ? ' ' : separator), false};
    if (table.rows.empty() && table.names.empty() && !HasNumber(row.cells)) {
      table.names = row.cells;
      continue;
    }
    row.is_header = !table.names.empty() && row.cells == table.names;
    (IsData(row) || row.is_header ? data : others) += 1;
    table.rows.push_back(std::move(row));
  }
  const bool has_columns = table.names.size() != 1;
  table.is_table = has_columns && data > 0 && data >= others;
  return table;
}

absl::StatusOr<LogColumns> FindColumns(const LogTable& table, const LogOptions& options) {
  LogColumns columns;
  if (table.names.empty()) {
    const bool is_pair = std::all_of(table.rows.begin(), table.rows.end(),
                                     [](const LogRow& row) { return row.cells.size() <= 2; });
    if (!is_pair) return absl::InvalidArgumentError("more than two columns, and no names above them");
    columns = {.memory = 1, .unit_bytes = options.unit_bytes.value_or(1), .place = 0, .unit = "step"};
    columns.is_unit_known = options.unit_bytes.has_value();
    return columns;
  }
  absl::StatusOr<size_t> memory = MemoryColumn(table, options);
  if (!memory.ok()) return memory.status();
  columns.memory = *memory;
  columns.memory_name = table.names[*memory];
  columns.unit = "sample";
  for (size_t i = 0; i < table.names.size(); ++i) {
    if (i == columns.memory) continue;
    const ColumnKind kind = MeaningOfColumn(table.names[i]).kind;
    if (kind == ColumnKind::kStep && columns.unit != "step") {
      columns.place = i;
      columns.unit = "step";
    } else if (kind == ColumnKind::kTime && !columns.place) {
      columns.place = i;
      columns.unit = "second";
    }
  }
  const bool is_listing = HasName(table, "PID");  // ps in a loop has neither steps nor times
  if (!columns.place && !is_listing) {
    return absl::InvalidArgumentError(
        absl::StrCat("none of the columns ", NamesText(table), " is known as a step or a time"));
  }
  const ColumnMeaning meaning = MeaningOfColumn(columns.memory_name);
  const std::optional<double> of_name =
      meaning.unit_bytes ? meaning.unit_bytes : UnitOfTool(table, columns.memory_name);
  columns.unit_bytes = of_name.value_or(options.unit_bytes.value_or(1));
  columns.is_unit_known = of_name || options.unit_bytes;
  return columns;
}

}  // namespace plateau::verdict

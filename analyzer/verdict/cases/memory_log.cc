#include "analyzer/verdict/cases/memory_log.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/verdict/cases/log_table.h"
#include "analyzer/verdict/cases/log_words.h"

namespace plateau::verdict {
namespace {

constexpr double kMiB = 1024.0 * 1024;

std::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

// A new curve where the steps begin anew: two runs in one file.
void AddPoint(double step, double bytes, std::vector<MemoryLog>* logs) {
  MemoryLog& log = logs->back();
  if (!log.curve.step.empty() && step < log.curve.step.back()) {
    MemoryLog next;
    next.format = log.format;
    next.unit = log.unit;
    next.column = log.column;
    logs->push_back(std::move(next));
  }
  logs->back().curve.step.push_back(step);
  logs->back().curve.bytes.push_back(bytes);
}

std::vector<MemoryLog> NewLogs(std::string format, std::string unit) {
  MemoryLog log;
  log.format = std::move(format);
  log.unit = std::move(unit);
  return {std::move(log)};
}

// `date +%s` beside a size: from the year 2001 to 2286, and no number of steps.
bool AreUnixTimes(const std::vector<MemoryLog>& logs) {
  return std::all_of(logs.begin(), logs.end(), [](const MemoryLog& log) {
    return std::all_of(log.curve.step.begin(), log.curve.step.end(),
                       [](double at) { return at >= 1e9 && at < 1e10; });
  });
}

// Seconds since the first point.
void CountFromFirst(MemoryLog* log) {
  if (log->curve.step.empty()) return;
  const double first = log->curve.step.front();
  for (double& time : log->curve.step) time -= first;
}

// "Step 40: 10,375 MB (+1,654 MB)", "01:31:30 - 4423 MB": where the line is, and the first size in it that is
// not a difference.
struct TextLine {
  std::optional<double> step;
  std::optional<double> time;
  std::optional<double> bytes;
};

TextLine ReadTextLine(absl::string_view line) {
  TextLine read;
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t=|[]"), absl::SkipEmpty());
  const auto trimmed = [](absl::string_view word) {
    while (!word.empty() && (word.back() == ':' || word.back() == ',' || word.back() == ';')) {
      word.remove_suffix(1);
    }
    return word;
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const absl::string_view word = trimmed(words[i]);
    if (word.empty()) continue;
    // "Step 40:", "step: 40", "step=40", "global_step:40"
    const std::vector<absl::string_view> halves = absl::StrSplit(word, absl::MaxSplits(':', 1));
    const bool is_step =
        MeaningOfColumn(View(halves[0])).kind == ColumnKind::kStep && absl::ascii_isalpha(halves[0].front());
    if (is_step && !read.step) {
      absl::string_view number = halves.size() == 2     ? halves[1]
                                 : i + 1 < words.size() ? trimmed(words[i + 1])
                                                        : absl::string_view();
      number = number.substr(0, number.find('/'));  // "40/240"
      read.step = ParseNumber(View(number));
      continue;
    }
    if (!read.time && word.find(':') != absl::string_view::npos) {
      const bool has_date = i > 0 && words[i - 1].size() == 10 && words[i - 1][4] == '-';
      read.time = has_date ? ParseTime(absl::StrCat(words[i - 1], " ", word)) : ParseTime(View(word));
      if (read.time) continue;
    }
    if (read.bytes || !absl::ascii_isdigit(word.front())) continue;
    size_t letters = word.size();
    while (letters > 0 && absl::ascii_isalpha(word[letters - 1])) --letters;
    const std::optional<double> number = ParseNumber(View(word.substr(0, letters)));
    absl::string_view unit = word.substr(letters);
    if (unit.empty() && i + 1 < words.size()) unit = trimmed(words[i + 1]);
    // One letter is no unit here: "3 m" may be minutes.
    const std::optional<double> factor = unit.size() >= 2 ? ParseUnit(View(unit)) : std::nullopt;
    if (number && factor) read.bytes = *number * *factor;
  }
  return read;
}

std::optional<std::vector<MemoryLog>> ReadTextLines(const std::vector<absl::string_view>& lines) {
  size_t with_bytes = 0, with_step = 0, with_time = 0;
  std::vector<TextLine> read;
  for (absl::string_view line : lines) {
    read.push_back(ReadTextLine(line));
    if (!read.back().bytes) continue;
    ++with_bytes;
    with_step += read.back().step.has_value();
    with_time += read.back().time.has_value();
  }
  // Sizes alone are samples, as of a loop around grep VmRSS; a few of them in other text are nothing.
  const bool by_sample = with_step == 0 && with_time == 0;
  if (by_sample && (with_bytes < 3 || 2 * with_bytes < lines.size())) return std::nullopt;
  const bool by_step = !by_sample && with_step >= with_time;
  const bool by_time = !by_sample && !by_step;
  std::vector<MemoryLog> logs = NewLogs("lines", by_sample ? "sample" : by_step ? "step" : "second");
  double days = 0, sample = 0;
  std::optional<double> before;
  for (const TextLine& line : read) {
    const std::optional<double> at = by_sample ? sample + 1 : by_step ? line.step : line.time;
    if (!at || !line.bytes) {
      ++logs.front().lines_left_out;
      continue;
    }
    ++sample;
    // A time of day goes past midnight.
    if (by_time && before && *at < *before && *at < 86400) days += 86400;
    before = *at;
    AddPoint(*at + days, *line.bytes, &logs);
  }
  if (by_time) CountFromFirst(&logs.front());
  return logs;
}

// memory_profiler's mprof: MEM megabytes seconds; other lines name the command and its functions.
std::optional<std::vector<MemoryLog>> ReadMprof(const std::vector<absl::string_view>& lines) {
  std::vector<MemoryLog> logs = NewLogs("mprof", "second");
  for (absl::string_view line : lines) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    const bool is_memory = words.size() == 3 && words[0] == "MEM";
    const std::optional<double> size = is_memory ? ParseNumber(View(words[1])) : std::nullopt;
    const std::optional<double> time = is_memory ? ParseNumber(View(words[2])) : std::nullopt;
    if (!size || !time) {
      const bool is_command = !words.empty() && words[0] == "CMDLINE";
      logs.front().lines_left_out += !is_command;
      // mprof adds to a file that is there: each command is a run.
      if (is_command && !logs.back().curve.step.empty()) logs.push_back(NewLogs("mprof", "second").front());
      continue;
    }
    AddPoint(*time, *size * kMiB, &logs);
  }
  std::erase_if(logs, [](const MemoryLog& log) { return log.curve.step.empty(); });
  if (logs.empty()) return std::nullopt;
  for (MemoryLog& log : logs) CountFromFirst(&log);
  return logs;
}

// The unit of free's numbers is not in its output, but no machine has 256 KiB or 4 EiB.
double UnitOfFree(double total) {
  if (total >= 1ull << 33) return 1;
  if (total >= 1 << 20) return 1024;
  return total >= 256 ? kMiB : 0;
}

std::optional<std::vector<MemoryLog>> ReadFree(const std::vector<absl::string_view>& lines) {
  std::vector<MemoryLog> logs = NewLogs("free", "sample");
  for (absl::string_view line : lines) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() < 3 || words[0] != "Mem:") {
      const bool is_known = !words.empty() && (words[0] == "total" || words[0] == "Swap:");
      logs.back().lines_left_out += !is_known;
      continue;
    }
    const std::optional<double> total = ParseNumber(View(words[1]));
    const std::optional<double> used = ParseNumber(View(words[2]));
    if (!total || !used || UnitOfFree(*total) == 0) return std::nullopt;
    AddPoint(static_cast<double>(logs.back().curve.step.size() + 1), *used * UnitOfFree(*total), &logs);
  }
  if (logs.front().curve.step.empty()) return std::nullopt;
  return logs;
}

// A number a line, as a loop around "ps -o rss=" writes it.
std::optional<std::vector<MemoryLog>> ReadNumbers(const std::vector<absl::string_view>& lines,
                                                  double unit_bytes) {
  constexpr size_t kFewest = 3;
  std::vector<MemoryLog> logs = NewLogs("numbers", "sample");
  for (absl::string_view line : lines) {
    const std::optional<double> number = ParseNumber(View(line));
    if (!number) return std::nullopt;
    AddPoint(static_cast<double>(logs.back().curve.step.size() + 1), *number * unit_bytes, &logs);
  }
  if (lines.size() < kFewest) return std::nullopt;
  return logs;
}

absl::Status CannotRead(const std::string& name, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(
      name, ": ", what,
      ". What can be read: a table with names such as \"step,rss_mb\" over rows such as "
      "\"10,5434\" (CSV, psrecord, "
      "Weights & Biases, TensorBoard), two columns without names (step and bytes), a number a line with "
      "--unit, lines such "
      "as \"Step 40: 10,375 "
      "MB\", \"01:31:30 - 4423 MB\" or \"VmRSS: 10092 kB\", and the output of mprof or free -m"));
}

// No process that anybody measures is that small in bytes: the sizes are KiB or MiB.
constexpr double kLeastProcess = 1 << 20;

double LargestOf(const std::vector<MemoryLog>& logs) {
  double largest = 0;
  for (const MemoryLog& log : logs) {
    for (const double bytes : log.curve.bytes) largest = std::max(largest, bytes);
  }
  return largest;
}

absl::StatusOr<std::vector<MemoryLog>> ReadTable(const LogTable& table, const std::string& name,
                                                 const LogOptions& options) {
  absl::StatusOr<LogColumns> columns = FindColumns(table, options);
  if (!columns.ok()) return CannotRead(name, columns.status().message());
  std::vector<MemoryLog> logs = NewLogs("table", columns->unit);
  logs.back().column = columns->memory_name;
  double sample = 0;
  for (const LogRow& row : table.rows) {
    const auto cell = [&](size_t column) {
      return column < row.cells.size() ? std::string_view(row.cells[column]) : std::string_view();
    };
    const std::string_view size = cell(columns->memory);
    const std::optional<double> bytes = ParseNumber(size);
    const bool has_place = columns->place.has_value();
    const std::string_view place = has_place ? cell(*columns->place) : std::string_view();
    const std::optional<double> at = !has_place                ? std::optional<double>(sample + 1)
                                     : columns->unit == "step" ? ParseNumber(place)
                                                               : ParseTime(place);
    if (bytes && at) {
      AddPoint(*at, *bytes * columns->unit_bytes, &logs);
      ++sample;
      continue;
    }
    // Exports of several series leave cells empty; anything else is a mistake somewhere.
    const auto is_empty = [](std::string_view text) {
      return text.empty() || absl::EqualsIgnoreCase(absl::string_view(text.data(), text.size()), "nan");
    };
    if (!row.is_header && !(is_empty(size) || (has_place && is_empty(place)))) {
      return CannotRead(
          name, absl::StrCat("line ", row.line, ": expected a number in \"", row.text.substr(0, 60), "\""));
    }
    logs.front().lines_left_out += !row.is_header;
  }
  if (logs.front().curve.step.empty()) return CannotRead(name, "no row holds a memory size");
  if (!columns->is_unit_known && LargestOf(logs) < kLeastProcess) {
    return CannotRead(name,
                      "no unit is named, and the sizes are too small to be the bytes of a process; say for "
                      "instance --unit=MB");
  }
  const bool has_names = !columns->memory_name.empty();
  if (!has_names && columns->unit == "step" && AreUnixTimes(logs)) columns->unit = "second";
  if (columns->unit == "second") {
    for (MemoryLog& log : logs) {
      log.unit = "second";
      CountFromFirst(&log);
    }
  }
  return logs;
}

}  // namespace

absl::StatusOr<std::vector<MemoryLog>> ReadMemoryLogs(std::string_view text, const std::string& name,
                                                      const LogOptions& options) {
  std::vector<absl::string_view> lines;
  for (absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) lines.push_back(line);
  }
  const auto begins_with = [&](absl::string_view start) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](absl::string_view line) { return absl::StartsWith(line, start); });
  };
  if (begins_with("MEM ")) {
    if (auto logs = ReadMprof(lines)) return *std::move(logs);
  }
  if (begins_with("Mem:")) {
    if (auto logs = ReadFree(lines)) return *std::move(logs);
    return CannotRead(name, "the unit of free's numbers cannot be told; use free -m");
  }
  // A size with its unit in most lines is text, whatever else it looks like.
  std::optional<std::vector<MemoryLog>> spoken = ReadTextLines(lines);
  const bool is_text = spoken && static_cast<size_t>(spoken->front().lines_left_out) * 2 < lines.size();
  const LogTable table = SplitTable(text);
  if (table.is_table && !is_text) return ReadTable(table, name, options);
  if (spoken) return *std::move(spoken);
  if (auto logs = ReadNumbers(lines, options.unit_bytes.value_or(1))) {
    if (options.unit_bytes) return *std::move(logs);
    return CannotRead(
        name, "a number a line has no unit: say --unit=KB for what ps and /proc print, or another one");
  }
  return CannotRead(name, "no line holds a memory size with its unit");
}

}  // namespace plateau::verdict

#include "analyzer/verdict/cases/log_words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace plateau::verdict {
namespace {

constexpr double kKi = 1024;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

bool IsDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
}

// Lower-case words of letters; a digit or a sign ends one. "rssMB" is "rss", "mb".
std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  const auto end = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  char before = 0;
  for (char c : name) {
    if (!absl::ascii_isalpha(c)) {
      end();
      if (c == '%') words.emplace_back("percent");
    } else {
      if (absl::ascii_isupper(c) && absl::ascii_islower(before)) end();
      word += absl::ascii_tolower(c);
    }
    before = c;
  }
  end();
  return words;
}

template <size_t kCount>
int IndexOf(const std::array<std::string_view, kCount>& names, const std::vector<std::string>& words) {
  for (size_t i = 0; i < kCount; ++i) {
    if (std::find(words.begin(), words.end(), names[i]) != words.end()) return static_cast<int>(i);
  }
  return -1;
}

// Days since 1970 of a day of the Gregorian calendar.
int64_t DaysOf(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t of_era = year - era * 400;
  const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

std::optional<double> ParseClock(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  double seconds = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool is_last = i == 2;
    double value = 0;
    const bool is_number = is_last ? ParseNumber({parts[i].data(), parts[i].size()}).has_value()
                                   : IsDigits({parts[i].data(), parts[i].size()});
    if (!is_number || parts[i].size() > 12 || !absl::SimpleAtod(parts[i], &value) || value < 0 ||
        (i > 0 && value >= 61)) {
      return std::nullopt;
    }
    seconds = seconds * 60 + value;
  }
  return parts.size() == 2 ? seconds * 60 : seconds;
}

}  // namespace

std::optional<double> ParseNumber(std::string_view word) {
  if (word.empty() || word.size() > 40) return std::nullopt;
  if (!absl::ascii_isdigit(word.front()) && word.front() != '.' && word.front() != '-' &&
      word.front() != '+') {
    return std::nullopt;  // "nan", "inf"
  }
  std::string digits;
  size_t since_comma = 0;
  bool has_comma = false, has_point = false;
  for (char c : word) {
    if (c == ',') {
      if (has_point || (has_comma && since_comma != 3) || digits.empty()) return std::nullopt;
      has_comma = true;
      since_comma = 0;
      continue;
    }
    if (c == '.') {
      if (has_comma && since_comma != 3) return std::nullopt;
      has_point = true;
    }
    if (!has_point) ++since_comma;
    digits += c;
  }
  if (has_comma && !has_point && since_comma != 3) return std::nullopt;
  double value = 0;
  if (!absl::SimpleAtod(digits, &value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<double> ParseUnit(std::string_view word) {
  const std::string lower = absl::AsciiStrToLower(View(word));
  if (lower == "b" || lower == "byte" || lower == "bytes") return 1;
  if (lower == "k" || lower == "kb" || lower == "kib" || lower == "ki") return kKi;
  if (lower == "m" || lower == "mb" || lower == "mib" || lower == "mi") return kKi * kKi;
  if (lower == "g" || lower == "gb" || lower == "gib" || lower == "gi") return kKi * kKi * kKi;
  if (lower == "t" || lower == "tb" || lower == "tib" || lower == "ti") return kKi * kKi * kKi * kKi;
  return std::nullopt;
}

std::optional<double> ParseTime(std::string_view text) {
  if (const std::optional<double> number = ParseNumber(text)) return number;
  absl::string_view rest = View(text);
  double days = 0;
  if (rest.size() > 11 && rest[4] == '-' && rest[7] == '-' && (rest[10] == ' ' || rest[10] == 'T')) {
    int year = 0, month = 0, day = 0;
    if (!absl::SimpleAtoi(rest.substr(0, 4), &year) || !absl::SimpleAtoi(rest.substr(5, 2), &month) ||
        !absl::SimpleAtoi(rest.substr(8, 2), &day) || year < 1970 || month < 1 || month > 12 || day < 1 ||
        day > 31) {
      return std::nullopt;
    }
    days = static_cast<double>(DaysOf(year, month, day));
    rest.remove_prefix(11);
    if (!rest.empty() && rest.back() == 'Z') rest.remove_suffix(1);
  }
  const std::optional<double> seconds = ParseClock(rest);
  if (!seconds) return std::nullopt;
  return days * 86400 + *seconds;
}

ColumnMeaning MeaningOfColumn(std::string_view name) {
  constexpr std::array<std::string_view, 7> kSteps = {"step", "steps", "iteration", "iterations",
                                                      "iter", "batch", "batches"};
  constexpr std::array<std::string_view, 9> kTimes = {"time",    "timestamp", "elapsed",  "seconds", "second",
                                                      "runtime", "date",      "datetime", "wall"};
  // The surest first: the whole resident memory of the process, then less exact words.
  constexpr std::array<std::string_view, 10> kMemory = {"rss", "resident", "real",  "memory", "mem",
                                                        "ram", "used",     "bytes", "value",  "uss"};
  // Not the memory of a process although such a word stands beside it.
  constexpr std::array<std::string_view, 16> kOthers = {
      "percent", "available", "free", "total", "virtual", "vms", "cpu",  "shared",
      "limit",   "min",       "max",  "swap",  "cache",   "gpu", "cuda", "buff"};
  ColumnMeaning meaning;
  const std::vector<std::string> words = WordsOf(name);
  const int memory = IndexOf(kMemory, words);
  if (memory >= 0 && IndexOf(kOthers, words) < 0) {
    meaning.kind = ColumnKind::kMemory;
    meaning.rank = memory;
    for (const std::string& word : words) {
      if (word.size() < 2) continue;  // "m" may be anything
      if (const std::optional<double> unit = ParseUnit(word)) meaning.unit_bytes = unit;
    }
  } else if (IndexOf(kOthers, words) >= 0) {
    meaning.kind = ColumnKind::kOther;
  } else if (IndexOf(kSteps, words) >= 0) {
    meaning.kind = ColumnKind::kStep;
  } else if (IndexOf(kTimes, words) >= 0) {
    meaning.kind = ColumnKind::kTime;
  }
  return meaning;
}

}  // namespace plateau::verdict

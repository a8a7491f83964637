#include "analyzer/base/human_units.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace plateau {
namespace {

// Three significant digits; whole numbers when there is no unit to divide by.
std::string WithUnit(double value, double step, const char* const* units, int unit_count) {
  const char* sign = value < 0 ? "-" : "";
  value = std::abs(value);
  int unit = 0;
  // 1023.6 KiB would be printed as "1024 KiB": move on when the rounded number has too many digits.
  while (unit + 1 < unit_count && value >= step - 0.5) {
    value /= step;
    ++unit;
  }
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::string text = absl::StrFormat("%s%.*f", sign, decimals, value);
  if (*units[unit] != '\0') absl::StrAppend(&text, " ", units[unit]);
  return text;
}

constexpr std::array<const char*, 7> kByteUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

// Without the unit itself; a fraction of a byte shows one decimal.
std::string InByteUnit(double bytes, size_t unit) {
  const double value = bytes / std::pow(1024, static_cast<double>(unit));
  const double size = std::abs(value);
  int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  if (unit == 0) decimals = size < 9.95 && value != std::floor(value) ? 1 : 0;
  return absl::StrFormat("%.*f", decimals, value);
}

}  // namespace

std::string FormatBytes(double bytes) { return WithUnit(bytes, 1024, kByteUnits.data(), kByteUnits.size()); }

std::string FormatByteInterval(const Interval& bytes) {
  size_t unit = 0;
  double rest = std::max(std::abs(bytes.low), std::abs(bytes.high));
  for (; rest >= 1023.5 && unit + 1 < kByteUnits.size(); ++unit) rest /= 1024;
  return absl::StrCat(InByteUnit(bytes.low, unit), bytes.low < 0 ? " to " : "-", InByteUnit(bytes.high, unit),
                      " ", kByteUnits[unit]);
}

std::string FormatCount(double count) {
  static constexpr std::array<const char*, 5> kUnits = {"", "k", "M", "G", "T"};
  return WithUnit(count, 1000, kUnits.data(), kUnits.size());
}

std::string Counted(uint64_t count, const char* noun) {
  return absl::StrCat(FormatCount(static_cast<double>(count)), " ", noun, count == 1 ? "" : "s");
}

std::string FormatDuration(double seconds) {
  if (seconds < 0.9995) return absl::StrFormat("%.0f ms", seconds * 1000);
  if (seconds < 99.95) return absl::StrFormat("%.1f s", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 3600) return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %02d min", whole / 3600, whole / 60 % 60);
}

std::optional<uint64_t> ParseBytes(std::string_view text) {
  std::string lower(text);
  absl::StripAsciiWhitespace(&lower);
  absl::AsciiStrToLower(&lower);
  size_t digits = 0;
  while (digits < lower.size() && (absl::ascii_isdigit(lower[digits]) || lower[digits] == '.')) ++digits;
  double number = 0;
  if (digits == 0 || !absl::SimpleAtod(lower.substr(0, digits), &number)) return std::nullopt;
  std::string unit = lower.substr(digits);
  absl::StripAsciiWhitespace(&unit);
  double scale = 1;
  if (!unit.empty() && unit != "b") {
    const size_t power = std::string_view("kmgtp").find(unit[0]);
    if (power == std::string_view::npos) return std::nullopt;
    const std::string rest = unit.substr(1);
    if (!rest.empty() && rest != "b" && rest != "ib") return std::nullopt;
    scale = std::pow(rest == "b" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  }
  const double bytes = number * scale;
  if (!(bytes < 18e18)) return std::nullopt;
  return static_cast<uint64_t>(std::round(bytes));
}

}  // namespace plateau

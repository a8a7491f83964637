#include "analyzer/verdict/number_text.h"

#include <cmath>
#include <cstdio>

namespace plateau::verdict {

bool IsOne(double value) { return std::abs(value - 1) < 0.05; }

std::string BytesText(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = std::abs(bytes);
  int unit = 0;
  while (value >= 1023.5 && unit < 5) {
    value /= 1024;
    ++unit;
  }
  char text[48];
  const int decimals = unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  std::snprintf(text, sizeof text, "%s%.*f %s", bytes < 0 ? "-" : "", decimals, value, kUnits[unit]);
  return text;
}

std::string RateText(double bytes_per_step) { return BytesText(bytes_per_step) + "/step"; }

std::string NumberText(double value) {
  char text[48];
  const bool whole = std::abs(value - std::round(value)) < 0.05 || std::abs(value) >= 1000;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.1f", value);
  return text;
}

std::string CountText(double count, std::string_view noun) {
  return NumberText(count) + " " + std::string(noun) + (IsOne(count) ? "" : "s");
}

}  // namespace plateau::verdict

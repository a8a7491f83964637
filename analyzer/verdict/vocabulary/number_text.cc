#include "analyzer/verdict/vocabulary/number_text.h"

#include <cmath>
#include <cstdio>

#include "analyzer/base/human_units.h"

namespace plateau::verdict {

bool IsOne(double value) { return std::abs(value - 1) < 0.05; }

std::string BytesText(double bytes) { return FormatBytes(bytes); }

std::string RateText(double bytes_per_step) { return BytesText(bytes_per_step) + "/step"; }

std::string NumberText(double value) {
  char text[48];
  const bool whole = std::abs(value - std::round(value)) < 0.05 || std::abs(value) >= 1000;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.1f", value);
  std::string out = text;
  if (!whole) return out;
  const int first = out[0] == '-' ? 1 : 0;
  for (int at = static_cast<int>(out.size()) - 3; at > first && std::isfinite(value); at -= 3)
    out.insert(at, ",");
  return out;
}

std::string CountText(double count, std::string_view noun) {
  return NumberText(count) + " " + std::string(noun) + (IsOne(count) ? "" : "s");
}

}  // namespace plateau::verdict

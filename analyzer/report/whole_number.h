// Amounts as whole numbers, for the report.
#ifndef PLATEAU_ANALYZER_REPORT_WHOLE_NUMBER_H_
#define PLATEAU_ANALYZER_REPORT_WHOLE_NUMBER_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plateau::report {

// Halves away from zero. Amounts of exact recordings are whole already, and there are millions of them.
// `value` must be a number of at most 2^62.
inline int64_t Round(double value) {
  const int64_t whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? whole : std::llround(value);
}

inline std::vector<int64_t> Rounded(const std::vector<double>& values) {
  std::vector<int64_t> rounded(values.size());
  for (size_t i = 0; i < values.size(); ++i) rounded[i] = Round(values[i]);
  return rounded;
}

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_WHOLE_NUMBER_H_

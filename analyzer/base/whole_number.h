// Amounts are doubles while they are estimated and whole numbers where people read them.
#ifndef PLATEAU_ANALYZER_BASE_WHOLE_NUMBER_H_
#define PLATEAU_ANALYZER_BASE_WHOLE_NUMBER_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plateau {

// Rounds halves away from zero. Most amounts of an exact recording are whole already, so that case is quick.
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

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_WHOLE_NUMBER_H_

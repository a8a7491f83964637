// What one recorded allocation stands for when small requests are sampled.
//
// Requests of exact_from bytes or more are recorded always. A smaller one of s bytes is recorded when one of
// the marks of a Poisson process with mean distance T falls on it: p = 1 - e^(-s/T). Horvitz and Thompson: it
// stands for 1/p requests, and the variance this adds to a sum of bytes is s^2 (1-p)/p^2. Never sum sampled
// sizes without the weight.
#ifndef PLATEAU_ANALYZER_REPLAY_SAMPLING_H_
#define PLATEAU_ANALYZER_REPLAY_SAMPLING_H_

#include <cmath>
#include <cstdint>

#include "preload/trace/record.h"

namespace plateau::replay {

// Probability that a request of this size is recorded.
inline double RecordedProbability(const trace::RateRecord& rate, uint64_t bytes) {
  if (rate.mode == trace::Mode::kExact || rate.sample_bytes == 0 || bytes >= rate.exact_from_bytes) return 1;
  // The shim never samples an empty request; one that is in the trace came there otherwise and stands for
  // itself.
  if (bytes == 0) return 1;
  return -std::expm1(-static_cast<double>(bytes) / static_cast<double>(rate.sample_bytes));
}

inline double SampleVariance(double probability, uint64_t bytes) {
  const double size = static_cast<double>(bytes);
  return size * size * (1 - probability) / (probability * probability);
}

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_SAMPLING_H_

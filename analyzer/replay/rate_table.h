// The sampling rates a trace went through, each with the number that objects remember it by.
//
// Python's small objects (ALLOC_IN) have a rate of their own: exact mode samples them too. Whatever is
// recorded each time has the number kNotSampled, which costs least.
//
// There are at most 255 rates: later ones share the last number of their kind. Not thread-safe.
//
// What one recorded allocation stands for: requests of exact_from bytes or more are recorded always. A smaller
// one of s bytes is recorded when one of the marks of a Poisson process with mean distance T falls on it:
// p = 1 - e^(-s/T). By Horvitz and Thompson it stands for 1/p requests, and the variance this adds to a sum of
// bytes is s^2 (1-p)/p^2. Sampled sizes are never summed without the weight.
#ifndef PLATEAU_ANALYZER_REPLAY_RATE_TABLE_H_
#define PLATEAU_ANALYZER_REPLAY_RATE_TABLE_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "analyzer/replay/change_queue.h"
#include "preload/trace/format.h"
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

class RateTable {
 public:
  explicit RateTable(const trace::FileHeader& header) {
    current_ = Number({static_cast<trace::Mode>(header.mode), header.exact_from_bytes, header.sample_bytes});
    python_ = PythonNumber(header.python_sample_bytes);
  }

  void Add(const trace::RateRecord& rate) {
    current_ = Number(rate);
    if (rate.mode != trace::Mode::kExact) python_ = PythonNumber(rate.sample_bytes);
  }

  // Of what is allocated now.
  uint8_t current() const { return current_; }
  uint8_t python() const { return python_; }
  // Whether requests of malloc were ever sampled.
  bool has_sampling() const { return has_sampling_; }
  // Probability that a request of this size was recorded.
  double Probability(uint8_t rate, uint64_t bytes) const {
    return rate == kNotSampled ? 1.0 : RecordedProbability(rates_[rate], bytes);
  }
  // How many objects one recorded at this rate stands for.
  double Weight(uint8_t rate, uint64_t bytes) const {
    return rate == kNotSampled ? 1.0 : 1 / Probability(rate, bytes);
  }

 private:
  uint8_t Number(const trace::RateRecord& rate) {
    if (rate.mode == trace::Mode::kExact || rate.sample_bytes == 0) return kNotSampled;
    has_sampling_ = true;
    return Keep(rate, kLastOfMalloc);
  }
  // exact_from_bytes does not count for them.
  uint8_t PythonNumber(uint64_t sample_bytes) {
    if (sample_bytes == 0) return kNotSampled;
    return Keep({trace::Mode::kDefault, UINT64_MAX, sample_bytes}, kLastOfPython);
  }
  // `last`: the number that it shares with those after it when the others are used up.
  uint8_t Keep(const trace::RateRecord& rate, uint8_t last) {
    for (size_t i = rates_.size(); i-- > 0;) {  // one that comes back keeps its number
      if (rates_[i].exact_from_bytes == rate.exact_from_bytes && rates_[i].sample_bytes == rate.sample_bytes)
        return static_cast<uint8_t>(i);
    }
    if (rates_.size() < kLastOfMalloc) {
      rates_.push_back(rate);
      return static_cast<uint8_t>(rates_.size() - 1);
    }
    rates_.resize(kNotSampled);
    rates_[last] = rate;
    return last;
  }

  static constexpr uint8_t kLastOfPython = kNotSampled - 1;
  static constexpr uint8_t kLastOfMalloc = kNotSampled - 2;

  std::vector<trace::RateRecord> rates_;
  uint8_t current_ = kNotSampled;
  uint8_t python_ = kNotSampled;
  bool has_sampling_ = false;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_RATE_TABLE_H_

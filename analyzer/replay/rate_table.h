// The sampling rates a trace went through, each with the number that objects remember it by.
//
// At most 255: later ones share the last number. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_RATE_TABLE_H_
#define PLATEAU_ANALYZER_REPLAY_RATE_TABLE_H_

#include <cstdint>
#include <vector>

#include "analyzer/replay/heap_change.h"
#include "analyzer/replay/sampling.h"
#include "preload/trace/format.h"
#include "preload/trace/record.h"

namespace plateau::replay {

class RateTable {
 public:
  explicit RateTable(const trace::FileHeader& header) {
    Add({static_cast<trace::Mode>(header.mode), header.exact_from_bytes, header.sample_bytes});
  }

  void Add(const trace::RateRecord& rate) {
    if (rates_.size() < kNotSampled) rates_.push_back(rate);
    rates_.back() = rate;
    current_ = static_cast<uint8_t>(rates_.size() - 1);
    has_sampling_ |= rate.mode != trace::Mode::kExact && rate.sample_bytes > 0;
  }

  uint8_t current() const { return current_; }
  bool has_sampling() const { return has_sampling_; }
  // Probability that a request of this size was recorded.
  double Probability(uint8_t rate, uint64_t bytes) const {
    return has_sampling_ && rate != kNotSampled ? RecordedProbability(rates_[rate], bytes) : 1.0;
  }
  // How many objects one recorded at this rate stands for.
  double Weight(uint8_t rate, uint64_t bytes) const {
    return has_sampling_ ? 1 / Probability(rate, bytes) : 1.0;
  }

 private:
  std::vector<trace::RateRecord> rates_;
  uint8_t current_ = 0;
  bool has_sampling_ = false;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_RATE_TABLE_H_

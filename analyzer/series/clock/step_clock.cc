#include "analyzer/series/clock/step_clock.h"

#include <algorithm>
#include <cmath>

namespace plateau::series {

std::string_view StepSourceName(StepSource source) {
  switch (source) {
    case StepSource::kExplicit:
      return "explicit";
    case StepSource::kOptimizer:
      return "optimizer";
    case StepSource::kBackward:
      return "backward";
    case StepSource::kRounds:
      return "rounds";
    case StepSource::kFetch:
      return "batches";
    case StepSource::kBytes:
      return "bytes";
    case StepSource::kTime:
      return "time";
  }
  return "";
}

std::string_view ConfidenceName(Confidence confidence) {
  switch (confidence) {
    case Confidence::kLow:
      return "low";
    case Confidence::kMedium:
      return "medium";
    case Confidence::kHigh:
      return "high";
  }
  return "";
}

uint32_t StepClock::BucketOf(uint64_t time) const {
  if (time < first_begin_ || ends_.empty()) return 0;
  // The end of a step still belongs to it.
  return static_cast<uint32_t>(std::lower_bound(ends_.begin(), ends_.end(), time) - ends_.begin()) + 1;
}

uint64_t StepClock::BucketBegin(uint32_t bucket) const {
  if (bucket == 0) return trace_begin_;
  return bucket == 1 ? first_begin_ : BucketEnd(bucket - 1);
}

uint64_t StepClock::BucketEnd(uint32_t bucket) const {
  if (bucket == 0) return first_begin_;
  return bucket <= ends_.size() ? ends_[bucket - 1] : trace_end_;
}

std::vector<double> StepClock::ExpectedExamples() const {
  const auto all = static_cast<double>(dataset_examples_);
  if (all <= 0 || examples_per_step_ <= 0 || steps_per_epoch_ <= 0) return {};
  const bool is_resumed = steps_before_run_ > 0 && data_order_ == DataOrder::kShuffled;
  if (!is_resumed && data_order_ != DataOrder::kDrawn) return {};
  // What is left of the first pass brings new examples only; the next one brings again what is left of it.
  const double rest = std::max(0.0, steps_per_epoch_ - steps_before_run_);
  const double share = std::clamp(steps_before_run_ / steps_per_epoch_, 0.0, 1.0);
  std::vector<double> seen = {0};
  for (uint32_t step = 1; step <= step_count(); ++step) {
    const double drawn = step * examples_per_step_;
    if (data_order_ == DataOrder::kDrawn) {
      seen.push_back(all * -std::expm1(-drawn / all));
    } else {
      const double late = std::max(0.0, step - rest) * share;
      seen.push_back(std::min(all, (std::min<double>(step, rest) + late) * examples_per_step_));
    }
  }
  return seen;
}

std::vector<double> StepClock::ExpectedExamplesOfWorker() const {
  const auto all = static_cast<double>(dataset_examples_);
  const auto workers = static_cast<double>(loader_workers_);
  const bool is_mixed = data_order_ == DataOrder::kShuffled || data_order_ == DataOrder::kDrawn;
  if (all <= 0 || workers < 2 || examples_per_step_ <= 0 || steps_per_epoch_ <= 0 || !is_mixed) return {};
  std::vector<double> seen = {0};
  for (uint32_t step = 1; step <= step_count(); ++step) {
    if (data_order_ == DataOrder::kDrawn) {
      seen.push_back(all * -std::expm1(-step * examples_per_step_ / (workers * all)));
      continue;
    }
    const double passes = step / steps_per_epoch_;
    const double whole = std::floor(passes);
    const double unseen = std::pow(1 - 1 / workers, whole) * (1 - (passes - whole) / workers);
    seen.push_back(all * (1 - unseen));
  }
  return seen;
}

std::string_view StepClock::unit() const {
  if (source_ <= StepSource::kBackward) return "step";
  if (source_ == StepSource::kRounds) return "round";
  if (source_ == StepSource::kFetch) return "batch";
  return source_ == StepSource::kBytes ? "part" : "slice";
}

uint32_t StepClock::complete_epochs() const {
  return static_cast<uint32_t>(
      std::count_if(epochs_.begin(), epochs_.end(), [](const Epoch& epoch) { return epoch.is_complete; }));
}

uint32_t StepClock::skipped_steps() const {
  return static_cast<uint32_t>(
      std::count_if(steps_.begin(), steps_.end(), [](const Step& step) { return step.is_skipped; }));
}

}  // namespace plateau::series

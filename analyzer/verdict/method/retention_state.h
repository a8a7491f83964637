// Is what a site retains, seen over a window of birth steps, constant, slowing, stopped or nothing at all?
//
// Pure. Takes the survivors by birth step and answers with a state; "unclear" names what is missing.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_RETENTION_STATE_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_RETENTION_STATE_H_

#include <optional>
#include <string>
#include <vector>

#include "analyzer/verdict/method/rate_models.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// A window of birth steps. `first_step` is the absolute step of element 0.
struct SurvivorWindow {
  Values bytes;
  Values objects;
  Values variance;  // sampling variance of `bytes`; may be empty
  int first_step = 1;

  SurvivorWindow From(size_t index) const {
    return {bytes.subspan(index), objects.subspan(index),
            variance.empty() ? variance : variance.subspan(index), first_step + static_cast<int>(index)};
  }
};

enum class Retention { kZero, kConstant, kStopped, kSlowing, kUnclear };

struct RetentionState {
  Retention state = Retention::kUnclear;
  Reason reason = Reason::kShapesNotSeparable;  // when unclear
  std::string why;
  int events = 0;   // steps that retain more than the floor
  double rate = 0;  // bytes per step
  double low = 0;   // of the rate; meaningful when constant
  double high = 0;
  int silent_steps = 0;  // after the last retaining step
  double spacing = 1;    // mean steps between the last retaining steps
  int last_step = 0;
  std::optional<int> onset;  // absolute step, when constant
  std::optional<RateShape> shape;
  bool slowing_possible = false;    // a slowing shape is within the evidence set
  std::optional<double> remaining;  // bytes a decay will still add
  std::optional<Interval> remaining_interval;
  std::vector<RateFit> fits;      // best first; empty when no shape was fitted
  double bytes_per_fit_unit = 1;  // fits may be on object counts, scaled to bytes

  // BIC of a shape; 0 when it was not fitted.
  double BicOf(RateShape shape_wanted) const;
  std::vector<ModelScore> Scores() const;
};

// `floor_rate`: bytes per step below which nothing is retained.
RetentionState JudgeRetention(const SurvivorWindow& window, double floor_rate);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_RETENTION_STATE_H_

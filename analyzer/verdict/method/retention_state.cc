#include "analyzer/verdict/method/retention_state.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::verdict {
namespace {

constexpr double kLiveTailGaps = 4.6;  // P(longer silence) < 1 % at the recent rate

// The window in buckets, each with at least two arrivals, else the noise model would be wrong.
struct Bucketed {
  std::vector<double> rate;    // what is fitted: bytes, or object counts scaled to bytes
  std::vector<double> centre;  // absolute step
  double byte_scale = 1;       // sum of byte rates / sum of fitted rates
};

Bucketed IntoBuckets(const SurvivorWindow& window, size_t buckets) {
  const size_t n = window.bytes.size();
  std::vector<double> bytes(buckets), objects(buckets);
  Bucketed out;
  out.centre.resize(buckets);
  for (size_t i = 0; i < buckets; ++i) {
    const auto [begin, end] = SplitBounds(n, buckets, i);
    bytes[i] = Mean(window.bytes.subspan(begin, end - begin));
    objects[i] = Mean(window.objects.subspan(begin, end - begin));
    out.centre[i] = window.first_step + (static_cast<double>(begin) + static_cast<double>(end - 1)) / 2;
  }
  out.rate = bytes;
  const double byte_sum = Sum(bytes);
  const double object_sum = Sum(objects);
  if (Sum(window.objects) > 0) {
    // Object counts are the better witness when they tell the same story with less noise.
    double distance = 0, b = 0, o = 0;
    for (size_t i = 0; i < buckets; ++i) {
      b += bytes[i];
      o += objects[i];
      distance = std::max(distance, std::abs(b / byte_sum - o / std::max(object_sum, 1e-9)));
    }
    const double byte_noise = StandardDeviation(bytes) / Mean(bytes);
    const double object_noise = StandardDeviation(objects) / std::max(Mean(objects), 1e-9);
    if (distance < 0.12 && object_noise < byte_noise) {
      for (size_t i = 0; i < buckets; ++i) out.rate[i] = objects[i] * (byte_sum / object_sum);
    }
  }
  out.byte_scale = byte_sum / Sum(out.rate);
  return out;
}

// The best model of each class within the evidence set.
class Classes {
 public:
  bool Has(RateTrend trend) const { return best_[Index(trend)] != nullptr && present_[Index(trend)]; }
  const RateFit* Best(RateTrend trend) const { return best_[Index(trend)]; }
  void Offer(RateTrend trend, const RateFit* fit) {
    if (best_[Index(trend)] == nullptr || fit->bic < best_[Index(trend)]->bic) best_[Index(trend)] = fit;
    present_[Index(trend)] = true;
  }
  void Replace(RateTrend trend, const RateFit* fit) { best_[Index(trend)] = fit; }
  void Drop(RateTrend trend) { present_[Index(trend)] = false; }
  void Add(RateTrend trend, const RateFit* fit) {
    present_[Index(trend)] = true;
    if (best_[Index(trend)] == nullptr) best_[Index(trend)] = fit;
  }
  int count() const { return static_cast<int>(std::count(present_.begin(), present_.end(), true)); }
  bool Exactly(RateTrend a, RateTrend b) const { return count() == 2 && Has(a) && Has(b); }
  void KeepOnly(RateTrend trend) {
    present_.fill(false);
    present_[Index(trend)] = true;
  }
  RateTrend Only() const {
    return static_cast<RateTrend>(std::find(present_.begin(), present_.end(), true) - present_.begin());
  }
  std::string Names() const {  // in alphabetical order
    std::string names;
    for (const auto& [trend, name] : {std::pair{RateTrend::kConstant, "constant"},
                                      {RateTrend::kSlowing, "slowing"},
                                      {RateTrend::kStopped, "stopped"},
                                      {RateTrend::kZero, "zero"}}) {
      if (Has(trend)) names += (names.empty() ? "" : " or ") + std::string(name);
    }
    return names;
  }

 private:
  static size_t Index(RateTrend trend) { return static_cast<size_t>(trend); }
  std::array<const RateFit*, 4> best_{};
  std::array<bool, 4> present_{};
};

bool IsBox(const RateFit* fit) {
  return fit->shape == RateShape::kBox || fit->shape == RateShape::kDelayedBox;
}

bool InEvidenceSet(const RateFit& fit, const std::vector<RateFit>& fits) {
  return fit.bic - fits.front().bic < kStrongBic && fit.trend != RateTrend::kZero;
}

Classes Classify(const std::vector<RateFit>& fits, double floor_rate, double highest_rate) {
  Classes classes;
  for (const RateFit& fit : fits) {
    if (!InEvidenceSet(fit, fits)) continue;
    RateTrend trend = fit.trend;
    if (fit.shape == RateShape::kExponential && fit.end_rate < std::max(floor_rate, 0.002 * highest_rate)) {
      trend = RateTrend::kStopped;
    }
    if (fit.trend == RateTrend::kConstant && fit.rate < floor_rate) {
      const bool decayed =
          fit.shape == RateShape::kExponentialPlusConstant || fit.shape == RateShape::kTwoLevels;
      trend = decayed ? RateTrend::kStopped : RateTrend::kZero;
    }
    classes.Offer(trend, &fit);
  }
  return classes;
}

// The first constant shape in the evidence set that is not a decay plus a constant.
const RateFit* PlainConstant(const std::vector<RateFit>& fits, double floor_rate) {
  for (const RateFit& fit : fits) {
    if (InEvidenceSet(fit, fits) && fit.trend == RateTrend::kConstant &&
        fit.shape != RateShape::kExponentialPlusConstant && fit.rate >= floor_rate) {
      return &fit;
    }
  }
  return nullptr;
}

// A decay plus a constant contains the pure decay: unless that is rejected, and unless the tail is clean, the
// constant part is not established. Returns false when nothing can be said.
bool SettleDecayPlusConstant(const std::vector<RateFit>& fits, double floor_rate, int buckets,
                             Classes& classes) {
  const auto is_decay_plus_constant = [&] {
    return classes.Has(RateTrend::kConstant) &&
           classes.Best(RateTrend::kConstant)->shape == RateShape::kExponentialPlusConstant;
  };
  if (is_decay_plus_constant() && 4 * classes.Best(RateTrend::kConstant)->tau > 0.75 * buckets) {
    const RateFit* near = nullptr;
    for (const RateFit& fit : fits) {
      const bool decay = fit.shape == RateShape::kExponential || fit.shape == RateShape::kPowerLaw;
      if (near == nullptr && decay && fit.bic - fits.front().bic < kNoTailBic) near = &fit;
    }
    if (const RateFit* plain = PlainConstant(fits, floor_rate)) {
      classes.Replace(RateTrend::kConstant, plain);
    } else if (near != nullptr) {
      classes.Drop(RateTrend::kConstant);
      classes.Add(RateTrend::kSlowing, near);
    } else {
      return false;
    }
  }
  if (is_decay_plus_constant()) {
    bool exponential_possible = false;
    for (const RateFit& fit : fits) {
      if (fit.shape == RateShape::kExponential && InEvidenceSet(fit, fits)) exponential_possible = true;
    }
    if (exponential_possible) {
      if (const RateFit* plain = PlainConstant(fits, floor_rate)) {
        classes.Replace(RateTrend::kConstant, plain);
      } else {
        classes.Drop(RateTrend::kConstant);
      }
    }
  }
  return true;
}

RetentionState Unclear(RetentionState state, Reason reason, std::string why) {
  state.state = Retention::kUnclear;
  state.reason = reason;
  state.why = std::move(why);
  return state;
}

RetentionState FinishConstant(RetentionState state, const SurvivorWindow& window, const RateFit& fit,
                              int buckets) {
  const size_t n = window.bytes.size();
  const size_t first = SplitBounds(n, buckets, std::min(fit.start, buckets - 1)).first;
  const Values tail = window.bytes.subspan(first);
  double sampling_variance = 0;
  if (!window.variance.empty()) {
    const double length = static_cast<double>(tail.size());
    sampling_variance = Sum(window.variance.subspan(first)) / (length * length);
  }
  const MeanInterval rate = BatchInterval(tail, 12, sampling_variance);
  state.state = Retention::kConstant;
  state.onset = window.first_step + (fit.shape == RateShape::kDelayed ? static_cast<int>(first) : 0);
  state.rate = rate.mean;
  state.low = rate.low;
  state.high = rate.high;
  const size_t third = std::min(n, std::max<size_t>(2, tail.size() / 3));
  const double last_third = Mean(window.bytes.last(third));
  const auto retaining = std::count_if(tail.begin(), tail.end(), [](double v) { return v > 0; });
  if (rate.low <= 0 || last_third < 0.3 * rate.mean || retaining < 4) {
    return Unclear(std::move(state), Reason::kShapesNotSeparable, "the rate is not separated from zero");
  }
  return state;
}

}  // namespace

double RetentionState::BicOf(RateShape shape_wanted) const {
  for (const RateFit& fit : fits) {
    if (fit.shape == shape_wanted) return fit.bic;
  }
  return 0;
}

std::vector<ModelScore> RetentionState::Scores() const {
  std::vector<ModelScore> scores;
  for (const RateFit& fit : fits) scores.push_back({RateShapeName(fit.shape), fit.bic - fits.front().bic});
  return scores;
}

RetentionState JudgeRetention(const SurvivorWindow& window, double floor_rate) {
  RetentionState state;
  const size_t n = window.bytes.size();
  if (n == 0) return Unclear(state, Reason::kTooShort, "no step is old enough");
  const double total = Sum(window.bytes);
  std::vector<size_t> events;
  for (size_t i = 0; i < n; ++i) {
    if (window.bytes[i] >= std::max(1.0, floor_rate)) events.push_back(i);
  }
  state.events = static_cast<int>(events.size());
  state.rate = total / static_cast<double>(n);
  state.silent_steps = static_cast<int>(n);
  const double material = floor_rate * static_cast<double>(n);
  if (total < material) {
    state.state = Retention::kZero;
    return state;
  }
  if (events.empty())
    return Unclear(state, Reason::kShapesNotSeparable, "retained bytes are spread too thinly");

  const size_t gap = n - 1 - events.back();
  const size_t recent = std::min<size_t>(events.size(), 12);
  const size_t recent_first = events[events.size() - recent];
  double spacing =
      recent > 1 ? static_cast<double>(events.back() - recent_first) / static_cast<double>(recent - 1) : 1;
  if (recent == 1 && gap < 10) spacing = static_cast<double>(n) / 2;
  state.silent_steps = static_cast<int>(gap);
  state.spacing = std::max(spacing, 1.0);
  state.last_step = window.first_step + static_cast<int>(events.back());
  if (n < 5) return Unclear(state, Reason::kTooShort, "too few steps are old enough");

  const int buckets = static_cast<int>(
      std::min({n, static_cast<size_t>(kRateBuckets), std::max<size_t>(10, events.size() / 2)}));
  const Bucketed bucketed = IntoBuckets(window, buckets);
  const double floor = 0.03 * Mean(bucketed.rate) + 1e-9;
  state.fits = FitRateModels(bucketed.rate, bucketed.centre, floor);
  state.bytes_per_fit_unit = bucketed.byte_scale;
  Classes classes = Classify(state.fits, floor_rate, Max(bucketed.rate));
  state.slowing_possible = classes.Has(RateTrend::kSlowing);

  const double silence = static_cast<double>(gap);
  const double length = static_cast<double>(n);
  const bool few = state.events < kFewEvents;
  bool hard_stop = silence >= kSilentGaps * state.spacing && silence >= kSilentTailShare * length;
  if (few) {  // a handful of one-offs: silence twice the longest earlier silence
    double longest = 1;
    for (size_t i = 1; i < events.size(); ++i)
      longest = std::max(longest, static_cast<double>(events[i] - events[i - 1]));
    hard_stop = hard_stop || (silence >= 2 * longest && silence >= 0.3 * length && silence >= 10);
  }
  if (hard_stop && (classes.Has(RateTrend::kStopped) || silence >= 8 * state.spacing || few)) {
    state.state = Retention::kStopped;
    return state;
  }
  const bool live_tail = silence <= kLiveTailGaps * state.spacing + 1;
  if (live_tail && classes.Has(RateTrend::kStopped) && classes.count() > 1 &&
      IsBox(classes.Best(RateTrend::kStopped))) {
    classes.Drop(RateTrend::kStopped);
  }
  if (!SettleDecayPlusConstant(state.fits, floor_rate, buckets, classes)) {
    return Unclear(std::move(state), Reason::kShapesNotSeparable,
                   "the rate is falling; whether it falls to zero is not visible yet");
  }
  if (classes.Exactly(RateTrend::kStopped, RateTrend::kSlowing)) {
    const bool decayed = classes.Best(RateTrend::kStopped)->shape == RateShape::kExponential;
    classes.KeepOnly(decayed || hard_stop ? RateTrend::kStopped : RateTrend::kSlowing);
  }
  if (classes.Exactly(RateTrend::kConstant, RateTrend::kSlowing)) {
    // A decay as long as the window can never be excluded: call it constant if nothing says that it slows.
    const double gain = classes.Best(RateTrend::kSlowing)->bic - classes.Best(RateTrend::kConstant)->bic;
    const double trend = LaplaceTrend(events, n);
    if (state.events >= 8 &&
        ((gain >= 2 && trend > -1.64) || (gain > -2 && state.events >= 12 && trend > -1.28))) {
      classes.KeepOnly(RateTrend::kConstant);
    }
  }
  if (classes.count() != 1) {
    return Unclear(std::move(state), Reason::kShapesNotSeparable, "shapes not separable: " + classes.Names());
  }

  const RateTrend trend = classes.Only();
  const RateFit fit = *classes.Best(trend);
  if (trend == RateTrend::kSlowing && few) {
    std::string why = "only " + CountText(state.events, "step") + " retained anything";
    return Unclear(std::move(state), Reason::kFewSamples, std::move(why));
  }
  if (trend == RateTrend::kStopped && !hard_stop && IsBox(&fit)) {
    return Unclear(std::move(state), Reason::kRecentStop,
                   "growth seems to have stopped, too recently to be sure");
  }
  state.shape = fit.shape;
  switch (trend) {
    case RateTrend::kZero:
      state.state = Retention::kZero;
      break;
    case RateTrend::kStopped:
      state.state = Retention::kStopped;
      break;
    case RateTrend::kConstant:
      return FinishConstant(std::move(state), window, fit, buckets);
    case RateTrend::kSlowing: {
      state.state = Retention::kSlowing;
      const double steps_per_bucket = length / buckets;
      if (std::isfinite(fit.remaining)) state.remaining = fit.remaining * steps_per_bucket;
      if (fit.shape == RateShape::kExponential) {
        state.remaining_interval =
            Interval{fit.remaining_low * steps_per_bucket, fit.remaining_high * steps_per_bucket};
      }
      break;
    }
  }
  return state;
}

}  // namespace plateau::verdict

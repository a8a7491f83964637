#include "analyzer/verdict/method/retention_state.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::verdict {
namespace {

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
      distance = std::max(distance, std::abs(b / byte_sum - o / std::max(object_sum, kTiny)));
    }
    const double byte_noise = StandardDeviation(bytes) / Mean(bytes);
    const double object_noise = StandardDeviation(objects) / std::max(Mean(objects), kTiny);
    if (distance < kSameStory && object_noise < byte_noise) {
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
    for (const auto& [trend, name] : {std::pair{RateTrend::kConstant, "steady"},
                                      {RateTrend::kSlowing, "slowing"},
                                      {RateTrend::kStopped, "stopped"},
                                      {RateTrend::kZero, "none"}}) {
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
    if (fit.shape == RateShape::kExponential &&
        fit.end_rate < std::max(floor_rate, kFadedShare * highest_rate)) {
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
  if (is_decay_plus_constant() &&
      kCleanTailTaus * classes.Best(RateTrend::kConstant)->tau > kCleanTailShare * buckets) {
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
  const MeanInterval rate = BatchInterval(tail, kRateBatches, sampling_variance);
  state.state = Retention::kConstant;
  state.onset = window.first_step + (fit.shape == RateShape::kDelayed ? static_cast<int>(first) : 0);
  state.rate = rate.mean;
  state.low = rate.low;
  state.high = rate.high;
  const size_t third = std::min(n, std::max<size_t>(2, tail.size() / 3));
  const double last_third = Mean(window.bytes.last(third));
  const auto retaining = std::count_if(tail.begin(), tail.end(), [](double v) { return v > 0; });
  if (rate.low <= 0 || last_third < kStillGrowingShare * rate.mean || retaining < kMinRetaining) {
    return Unclear(std::move(state), Reason::kShapesNotSeparable,
                   "its growth is too small to tell it from none");
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

namespace {

// One window on its way to a state. Each step either answers or leaves the question to the next.
class RetentionJudge {
 public:
  RetentionJudge(const SurvivorWindow& window, double floor_rate)
      : window_(window), floor_rate_(floor_rate), n_(window.bytes.size()) {}

  RetentionState Judge() {
    if (n_ == 0) return Unclear(state_, Reason::kTooShort, "no step is old enough to see what stays of it");
    if (!FindEvents()) return state_;
    MeasureSilence();
    if (n_ < kMinWindow)
      return Unclear(state_, Reason::kTooShort, "too few steps are old enough to see what stays of them");
    FitShapes();
    has_stopped_ = HasStopped();
    if (has_stopped_ && StopIsExplained()) {
      state_.state = Retention::kStopped;
      return state_;
    }
    if (few_ && sampled_) return FewRecords();
    if (!NarrowClasses()) {
      return Unclear(std::move(state_), Reason::kShapesNotSeparable,
                     "growth is slowing down, and whether it will end is not visible yet");
    }
    if (classes_.count() != 1) {
      return Unclear(std::move(state_), Reason::kShapesNotSeparable,
                     "its growth may be " + classes_.Names() + ", which cannot be told apart yet");
    }
    return Answer();
  }

 private:
  // Steps that retain something. False when the state is known already.
  bool FindEvents() {
    const double total = Sum(window_.bytes);
    for (size_t i = 0; i < n_; ++i) {
      if (window_.bytes[i] >= std::max(1.0, floor_rate_)) events_.push_back(i);
    }
    state_.events = static_cast<int>(events_.size());
    state_.rate = total / static_cast<double>(n_);
    state_.silent_steps = static_cast<int>(n_);
    if (total < floor_rate_ * static_cast<double>(n_)) {
      state_.state = Retention::kZero;
      return false;
    }
    if (events_.empty()) {
      state_ =
          Unclear(state_, Reason::kShapesNotSeparable, "what is kept is spread too thinly over the steps");
      return false;
    }
    few_ = state_.events < kFewEvents;
    sampled_ = MostlySampled();
    return true;
  }

  // Do most of the retained bytes come from blocks that stand for others?
  bool MostlySampled() const {
    if (window_.variance.empty()) return false;
    double all = 0, sampled = 0;
    for (const size_t i : events_) {
      all += window_.bytes[i];
      // The deviation of one record that stands for many is near its weight; of exact blocks it is nothing.
      if (std::sqrt(window_.variance[i]) > kSampledDeviation * window_.bytes[i]) sampled += window_.bytes[i];
    }
    return sampled > 0.5 * all;
  }

  void MeasureSilence() {
    const size_t gap = n_ - 1 - events_.back();
    const size_t recent = std::min<size_t>(events_.size(), kRecentEvents);
    const size_t recent_first = events_[events_.size() - recent];
    double spacing =
        recent > 1 ? static_cast<double>(events_.back() - recent_first) / static_cast<double>(recent - 1) : 1;
    if (recent == 1 && gap < kLoneEventSilence) spacing = static_cast<double>(n_) / 2;
    silence_ = static_cast<double>(gap);
    state_.silent_steps = static_cast<int>(gap);
    state_.spacing = std::max(spacing, 1.0);
    state_.last_step = window_.first_step + static_cast<int>(events_.back());
  }

  void FitShapes() {
    buckets_ = static_cast<int>(std::min(
        {n_, static_cast<size_t>(kRateBuckets), std::max<size_t>(kMinRateBuckets, events_.size() / 2)}));
    const Bucketed bucketed = IntoBuckets(window_, buckets_);
    const double floor = kFitFloor * Mean(bucketed.rate) + kTiny;
    state_.fits = FitRateModels(bucketed.rate, bucketed.centre, floor);
    state_.bytes_per_fit_unit = bucketed.byte_scale;
    classes_ = Classify(state_.fits, floor_rate_, Max(bucketed.rate));
    state_.slowing_possible = classes_.Has(RateTrend::kSlowing);
  }

  // An empty tail that is too long for chance.
  bool HasStopped() const {
    const double length = static_cast<double>(n_);
    if (few_ && sampled_) {  // one record stands for many blocks: silence is soon made by chance
      const double last = static_cast<double>(events_.back() + 1);
      return std::pow(last / length, state_.events) < kEarlyEndChance;
    }
    const bool is_silent = silence_ >= kSilentGaps * state_.spacing && silence_ >= kSilentTailShare * length;
    if (!few_) return is_silent;
    double longest = 1;  // a handful of one-offs: silence twice the longest earlier silence
    for (size_t i = 1; i < events_.size(); ++i)
      longest = std::max(longest, static_cast<double>(events_[i] - events_[i - 1]));
    return is_silent ||
           (silence_ >= 2 * longest && silence_ >= kFewSilentShare * length && silence_ >= kLoneEventSilence);
  }

  bool StopIsExplained() const {
    return classes_.Has(RateTrend::kStopped) || silence_ >= kLongSilentGaps * state_.spacing || few_;
  }

  RetentionState FewRecords() {
    std::string why = "only " + CountText(state_.events, "block") + " of what stays " +
                      (IsOne(state_.events) ? "was" : "were") + " sampled, and each stands for many";
    return Unclear(std::move(state_), Reason::kFewSamples, std::move(why));
  }

  // Leaves the classes that the data do not exclude. False when not even that can be told.
  bool NarrowClasses() {
    const bool live_tail = silence_ <= kLiveTailGaps * state_.spacing + 1;
    if (live_tail && classes_.Has(RateTrend::kStopped) && classes_.count() > 1 &&
        IsBox(classes_.Best(RateTrend::kStopped))) {
      classes_.Drop(RateTrend::kStopped);
    }
    if (!SettleDecayPlusConstant(state_.fits, floor_rate_, buckets_, classes_)) return false;
    if (classes_.Exactly(RateTrend::kStopped, RateTrend::kSlowing)) {
      const bool decayed = classes_.Best(RateTrend::kStopped)->shape == RateShape::kExponential;
      classes_.KeepOnly(decayed || has_stopped_ ? RateTrend::kStopped : RateTrend::kSlowing);
    }
    if (classes_.Exactly(RateTrend::kConstant, RateTrend::kSlowing) && NothingSlows())
      classes_.KeepOnly(RateTrend::kConstant);
    return true;
  }

  // A decay as long as the window can never be excluded: it is called constant if nothing says that it slows.
  bool NothingSlows() const {
    const double gain = classes_.Best(RateTrend::kSlowing)->bic - classes_.Best(RateTrend::kConstant)->bic;
    const double trend = LaplaceTrend(events_, n_);
    if (state_.events < kFewEvents) return false;
    const bool clearly = gain >= kWeakBic && trend > kLaplace95;
    const bool well_seen = gain > -kWeakBic && state_.events >= kRecentEvents && trend > kLaplace90;
    return clearly || well_seen;
  }

  RetentionState Answer() {
    const RateTrend trend = classes_.Only();
    const RateFit fit = *classes_.Best(trend);
    if (trend == RateTrend::kSlowing && few_) {
      std::string why = "only " + CountText(state_.events, "step") + " kept anything";
      return Unclear(std::move(state_), Reason::kFewSamples, std::move(why));
    }
    if (trend == RateTrend::kStopped && !has_stopped_ && IsBox(&fit)) {
      return Unclear(std::move(state_), Reason::kRecentStop,
                     "growth seems to have stopped, but too recently to be sure");
    }
    state_.shape = fit.shape;
    switch (trend) {
      case RateTrend::kZero:
        state_.state = Retention::kZero;
        break;
      case RateTrend::kStopped:
        state_.state = Retention::kStopped;
        break;
      case RateTrend::kConstant:
        return ConstantFrom(fit);
      case RateTrend::kSlowing:
        FinishSlowing(fit);
        break;
    }
    return state_;
  }

  // A second level of a few steps at the end may be chance. Where it cannot be told from nothing, and one level for all
  // steps explains them about as well, that is the answer.
  RetentionState ConstantFrom(const RateFit& fit) {
    RetentionState answer = FinishConstant(state_, window_, fit, buckets_);
    if (answer.state == Retention::kConstant || fit.shape == RateShape::kConstant) return answer;
    if (const RateFit* one_level = OneLevel()) {
      state_.shape = one_level->shape;
      RetentionState simpler = FinishConstant(std::move(state_), window_, *one_level, buckets_);
      if (simpler.state == Retention::kConstant) return simpler;
    }
    return answer;
  }

  const RateFit* OneLevel() const {
    for (const RateFit& fit : state_.fits) {
      if (fit.shape == RateShape::kConstant && InEvidenceSet(fit, state_.fits) && fit.rate >= floor_rate_)
        return &fit;
    }
    return nullptr;
  }

  void FinishSlowing(const RateFit& fit) {
    state_.state = Retention::kSlowing;
    const double steps_per_bucket = static_cast<double>(n_) / buckets_;
    if (std::isfinite(fit.remaining)) state_.remaining = fit.remaining * steps_per_bucket;
    if (fit.shape == RateShape::kExponential) {
      state_.remaining_interval =
          Interval{fit.remaining_low * steps_per_bucket, fit.remaining_high * steps_per_bucket};
    }
  }

  const SurvivorWindow& window_;
  const double floor_rate_;
  const size_t n_;
  RetentionState state_;
  std::vector<size_t> events_;  // steps of the window that retain more than the floor
  bool few_ = false;
  bool sampled_ = false;
  bool has_stopped_ = false;
  double silence_ = 0;  // steps since the last of them
  int buckets_ = 0;
  Classes classes_;
};

}  // namespace

RetentionState JudgeRetention(const SurvivorWindow& window, double floor_rate) {
  return RetentionJudge(window, floor_rate).Judge();
}

}  // namespace plateau::verdict

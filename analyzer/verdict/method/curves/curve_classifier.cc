#include "analyzer/verdict/method/curves/curve_classifier.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/verdict/method/curves/curve_cleaning.h"
#include "analyzer/verdict/method/curves/curve_models.h"
#include "analyzer/verdict/method/curves/curve_reading.h"
#include "analyzer/verdict/method/forecast.h"
#include "analyzer/verdict/method/judgement.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {
namespace {

using series::RunContext;

MeanInterval AsInterval(const Slope& slope) { return {slope.value, slope.low, slope.high}; }
Estimate AsEstimate(const Slope& slope) { return {slope.value, Interval{slope.low, slope.high}}; }

// A model that is still in the race, with what it says.
struct Contender {
  const CurveModel* model;
  Reading reading;
};

class CurveJudge {
 public:
  CurveJudge(const Samples& samples, double last_step, double level, double sample_distance,
             double spike_bytes, std::vector<int64_t> event_steps, const RunContext& run)
      : view_{samples.t, samples.y, last_step, level, sample_distance},
        spike_bytes_(spike_bytes),
        event_steps_(std::move(event_steps)),
        run_(run),
        epoch_(run.epoch_steps.value_or(0)),
        models_(FitCurve(view_.t, view_.y, event_steps_, epoch_, last_step, level)) {}

  Verdict Judge();

 private:
  std::vector<Contender> Contenders() const;
  Reading Settle(const std::vector<Contender>& contenders, std::vector<Growth> growths) const;
  double Detectable(const Slope& tail, double length) const {
    return std::max(kSeenErrors * tail.standard_error,
                    kSeenGrowth * kCurveGrowth * view_.level / std::max(length, 1.0));
  }
  bool past_first_pass() const {
    return epoch_ <= 0 || view_.last_step >= kPassMargin * epoch_ + 2 * view_.sample_distance;
  }

  Verdict Undecided(const std::vector<Growth>& growths, Verdict base) const;
  Verdict Flat(const Reading& reading, Verdict base) const;
  Verdict Growing(const Reading& reading, Verdict base) const;
  Verdict FirstPassOpen(const Slope& tail, Verdict base) const;
  Verdict Leak(const Slope& slope, double onset, Verdict base) const;
  Verdict Stopped(const Reading& reading, Verdict base) const;

  const CurveView view_;
  const double spike_bytes_;
  const std::vector<int64_t> event_steps_;
  const RunContext& run_;
  const double epoch_;  // 0 when unknown
  const CurveModels models_;
};

Verdict Staircase(const Reading& reading, const CurveView& view, Verdict base) {
  base.evidence.event = reading.event;
  base.evidence.event_count = reading.event_count;
  base.evidence.per_event_bytes = reading.per_event_bytes;
  if (reading.event_count > 0) {
    base.evidence.period_steps = view.last_step / reading.event_count;
    base.rate_bytes_per_step = Estimate{reading.per_event_bytes / *base.evidence.period_steps, std::nullopt};
  }
  return With(std::move(base), VerdictKind::kStaircase, "the level rises with every " + reading.event);
}

// Shapes within the evidence set. A term of a larger model counts only if the smaller model is rejected.
std::vector<Contender> CurveJudge::Contenders() const {
  const std::vector<const CurveModel*> order = models_.ByBic();
  std::vector<const CurveModel*> kept;
  const auto in_set = [&](CurveShape shape) {
    return std::any_of(kept.begin(), kept.end(), [&](const CurveModel* m) { return m->shape == shape; });
  };
  for (const CurveModel* model : order) {
    if (model->bic - order.front()->bic < kStrongBic) kept.push_back(model);
  }
  if (kept.empty()) kept.push_back(order.front());  // scores that overflowed
  for (const auto& [large, small] : {std::pair{CurveShape::kSaturationLine, CurveShape::kSaturation},
                                     {CurveShape::kBrokenLine, CurveShape::kHinge}}) {
    if (!in_set(large) || !in_set(small)) continue;
    std::erase_if(kept, [shape = large](const CurveModel* m) { return m->shape == shape; });
  }
  std::vector<Contender> contenders;
  for (const CurveModel* model : kept) contenders.push_back({model, Read(*model, models_, view_)});
  return contenders;
}

// One reading from several: what the common tail of the contenders says decides.
Reading CurveJudge::Settle(const std::vector<Contender>& contenders, std::vector<Growth> growths) const {
  Reading chosen = contenders.front().reading;
  const Growth of_best = chosen.growth;
  std::set<Growth> said(growths.begin(), growths.end());
  said.erase(Growth::kUnclear);
  const auto first_saying = [&](Growth growth) -> const Reading* {
    for (const Contender& c : contenders) {
      if (c.reading.growth == growth) return &c.reading;
    }
    return nullptr;
  };
  if (chosen.growth == Growth::kUnclear && !said.empty()) {
    for (const Contender& c : contenders) {
      if (c.reading.growth == Growth::kUnclear) continue;
      chosen = c.reading;
      break;
    }
  }
  if (said.size() <= 1) return chosen;

  const double first = view_.t.front();
  const bool slowing = said.count(Growth::kSlowing) > 0;
  const bool growing = said.count(Growth::kGrowing) > 0;
  double from = slowing ? first + 0.5 * view_.span() : first;
  for (const Contender& c : contenders) {
    if (c.reading.growth == Growth::kStopped) from = std::max(from, c.reading.since);
  }
  from = std::min(from, first + kLatestBegin * view_.span());
  const std::optional<Slope> tail = view_.TailFrom(from);
  const bool tail_grows =
      tail && tail->low > 0 && tail->value * (view_.t.back() - from) > kCurveGrowth * view_.level;
  const bool tail_flat = tail && tail->high < view_.flat_limit();
  if (tail_grows && !slowing) {
    const Reading* grower = first_saying(Growth::kGrowing);
    return {.growth = Growth::kGrowing, .tail = tail, .onset = grower != nullptr ? grower->onset : 0};
  }
  if (tail_flat && first_saying(Growth::kStopped) != nullptr) return *first_saying(Growth::kStopped);
  if (tail_flat && !growing && said.count(Growth::kStairs) == 0)
    return {.growth = Growth::kFlat, .tail = tail};
  if (slowing && growing) {
    chosen.growth = Growth::kUnclear;
  } else if (said == std::set<Growth>{Growth::kFlat, Growth::kGrowing}) {
    chosen.growth = of_best == Growth::kFlat ? Growth::kUnclear : Growth::kGrowing;
  }
  return chosen;
}

Verdict CurveJudge::Judge() {
  const std::vector<const CurveModel*> order = models_.ByBic();
  Verdict base;
  base.evidence.from_log_only = true;
  base.evidence.level_bytes = view_.level;
  base.evidence.noise_bytes = models_.noise;
  base.evidence.effective_samples = models_.effective_samples;
  for (size_t i = 0; i < order.size() && i < kShapesRead; ++i) {
    base.evidence.models.push_back({order[i]->name, order[i]->bic - order.front()->bic});
  }
  const std::vector<Contender> contenders = Contenders();
  std::vector<Growth> growths;
  for (const Contender& c : contenders) growths.push_back(c.reading.growth);

  // Stairs only if clearly better than a straight line.
  const Contender* stairs = nullptr;
  for (const Contender& c : contenders) {
    if (c.reading.growth == Growth::kStairs && stairs == nullptr) stairs = &c;
  }
  const Contender& best = contenders.front();
  if (stairs != nullptr && (stairs == &best || best.model->shape == CurveShape::kLevels)) {
    if (models_.Find(CurveShape::kLine)->bic - stairs->model->bic > 2)
      return Staircase(stairs->reading, view_, base);
    std::replace(growths.begin(), growths.end(), Growth::kStairs, Growth::kGrowing);
  }
  const Reading reading = Settle(contenders, growths);
  switch (reading.growth) {
    case Growth::kFlat:
      return Flat(reading, base);
    case Growth::kGrowing:
      return Growing(reading, base);
    case Growth::kStopped:
      return Stopped(reading, base);
    case Growth::kSlowing:
      base.plateau_bytes = reading.plateau;
      return With(base, VerdictKind::kWarmupInProgress, "growth is slowing down");
    case Growth::kStairs:
      return Staircase(reading, view_, base);
    case Growth::kUnclear:
      break;
  }
  return Undecided(growths, base);
}

// No shape won. Near the end of the first pass that is what to expect; say so, with both forecasts.
Verdict CurveJudge::Undecided(const std::vector<Growth>& growths, Verdict base) const {
  const Slope whole = view_.Whole();
  const bool grew = whole.value * view_.span() > kCurveGrowth * view_.level;
  if (epoch_ > 0 && grew && view_.last_step < epoch_) return FirstPassOpen(whole, base);
  const double tail_needed = std::max(kTailSamples * view_.sample_distance, kCurveTail * view_.span());
  if (epoch_ > 0 && grew && view_.last_step < epoch_ + tail_needed) {
    return Inconclusive(base, Reason::kRecentStop, "too few samples after the end of the first pass",
                        std::ceil(epoch_ + tail_needed - view_.last_step));
  }
  std::set<std::string> names;
  for (Growth growth : growths) {
    if (growth != Growth::kUnclear) names.insert(GrowthName(growth));
  }
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? ": " : " or ") + name;
  return Inconclusive(base, Reason::kShapesNotSeparable,
                      "no shape explains the curve better than the others" + joined, std::ceil(view_.span()));
}

Verdict CurveJudge::Flat(const Reading& reading, Verdict base) const {
  const Slope tail = reading.tail.value_or(view_.Whole());
  base.detectable_bytes_per_step = Detectable(tail, view_.span());
  if (spike_bytes_ > kCurveGrowth * view_.level) {
    base.evidence.spike_bytes = spike_bytes_;
    base.evidence.event_count = static_cast<int>(event_steps_.size());
    return With(base, VerdictKind::kSpikeRecovered, "the level rises at events and falls again");
  }
  return With(base, VerdictKind::kSteady, "no growth");
}

Verdict CurveJudge::Leak(const Slope& slope, double onset, Verdict base) const {
  base.kind = slope.value < kSlowLeakShare * view_.level ? VerdictKind::kSlowLeak : VerdictKind::kLeak;
  base.why = "still growing at a steady rate";
  base.rate_bytes_per_step = AsEstimate(slope);
  base.onset_step = onset;
  base.forecast = MakeForecast(view_.y.back(), AsInterval(slope), view_.last_step, run_);
  base.forecast.if_cache.reset();
  base.forecast.dataset_factor_that_fits.reset();
  if (base.forecast.outcome != Outcome::kSafeInThisRun) base.forecast.outcome = Outcome::kUnknown;
  return base;
}

Verdict CurveJudge::FirstPassOpen(const Slope& tail, Verdict base) const {
  base.rate_bytes_per_step = AsEstimate(tail);
  base.forecast = MakeForecast(view_.y.back(), AsInterval(tail), view_.last_step, run_);
  if (epoch_ <= 0) {
    return Inconclusive(
        base, Reason::kEpochUnknown,
        "the length of an epoch is unknown, so it may be a leak or a cache that the first pass fills",
        std::nullopt);
  }
  const double left = std::max(0.0, epoch_ - view_.last_step);
  const double now = view_.y.back();
  base.plateau_bytes =
      Estimate{now + tail.value * left, Interval{now + tail.low * left, now + tail.high * left}};
  // Past the end of the pass, with enough samples to show whether growth ended there.
  const double pass_decided_at = std::max(kPassMargin * epoch_ + 2 * view_.sample_distance,
                                          epoch_ + kTailSamples * view_.sample_distance);
  return Inconclusive(base, Reason::kFirstPass, "the first pass over the data has not ended",
                      std::ceil(pass_decided_at - view_.last_step));
}

Verdict CurveJudge::Growing(const Reading& reading, Verdict base) const {
  const Slope tail = reading.tail.value_or(view_.Whole());
  const double first = view_.t.front();
  const double last = view_.t.back();
  const double more = std::ceil(view_.span() / 2);
  if (!(tail.low > 0)) {
    base.rate_bytes_per_step = Estimate{tail.value, std::nullopt};
    base.detectable_bytes_per_step = Detectable(tail, view_.span());
    return Inconclusive(base, Reason::kShapesNotSeparable, "growth is too small to tell it from none", more);
  }
  const std::optional<Slope> recent = view_.TailFrom(last - kRecentShare * view_.span());
  if (recent && (recent->high < 0.5 * tail.value || recent->value < kRecentRate * tail.value)) {
    if (recent->high < view_.flat_limit()) {
      base.by_step = last - kRecentShare * view_.span();
      base.detectable_bytes_per_step = Detectable(*recent, view_.span());
      return With(base, VerdictKind::kWarmupComplete, "growth ended before the last third");
    }
    base.rate_bytes_per_step = Estimate{tail.value, std::nullopt};
    return Inconclusive(base, Reason::kRecentStop, "growth slowed down in the last third", more);
  }
  const double onset = reading.onset;
  const bool early = onset <= first + kLateOnset * view_.span();
  if (epoch_ > 0 && past_first_pass()) {
    const std::optional<Slope> post = view_.TailFrom(epoch_ + view_.sample_distance);
    const bool from_first_pass = onset <= epoch_ * kBeyondPass;
    base.rate_bytes_per_step = AsEstimate(tail);
    if (post && from_first_pass &&
        (post->low <= 0 || post->value * (last - epoch_) < kCurveGrowth * view_.level)) {
      base.detectable_bytes_per_step = Detectable(*post, view_.span());
      return Inconclusive(base, Reason::kShapesNotSeparable,
                          "growth after the first pass over the data is too small to tell it from none",
                          more);
    }
    if (!post && early) {
      const double wanted = std::max(kCurveTail * view_.span(), kTailSamples * view_.sample_distance);
      const double needs = std::max(epoch_ + wanted + view_.sample_distance - last, view_.sample_distance);
      return Inconclusive(base, Reason::kFirstPass, "too little data after the first pass", std::ceil(needs));
    }
    return Leak(post && from_first_pass && !reading.warmed_up_before ? *post : tail, onset, base);
  }
  if (early) return FirstPassOpen(tail, base);
  return Leak(tail, onset, base);
}

Verdict CurveJudge::Stopped(const Reading& reading, Verdict base) const {
  const double last = view_.t.back();
  const size_t n = view_.t.size();
  if (reading.tail) base.detectable_bytes_per_step = Detectable(*reading.tail, last - reading.since);
  base.by_step = reading.since;
  base.evidence.rise_bytes = reading.rise;
  const double from = std::min(reading.since, view_.t[n - 3]);
  const size_t begin = std::lower_bound(view_.t.begin(), view_.t.end(), from) - view_.t.begin();
  const double plateau = Median(view_.y.subspan(begin));
  base.plateau_bytes = Estimate{plateau, std::nullopt};

  const CurveModel& hinge = *models_.Find(CurveShape::kHinge);
  const CurveModel& broken = *models_.Find(CurveShape::kBrokenLine);
  const double linear_bic = std::min(hinge.bic, broken.bic);
  const double smooth_bic =
      std::min(models_.Find(CurveShape::kSaturation)->bic, models_.Find(CurveShape::kLogarithm)->bic);
  double jumpy_bic = models_.Find(CurveShape::kStep)->bic;
  for (const CurveModel& model : models_.models) {
    if (model.shape == CurveShape::kEventStep || model.shape == CurveShape::kLevels) {
      jumpy_bic = std::min(jumpy_bic, model.bic);
    }
  }
  const Knee knee = LocateKnee(view_.t, view_.y, broken.bic <= hinge.bic ? broken.knee : hinge.knee,
                               models_.effective_samples);
  const Estimate knee_estimate{knee.step, Interval{knee.low, knee.high}};
  const bool linear = linear_bic < smooth_bic - 2 && linear_bic < jumpy_bic + 2;
  if (epoch_ > 0 && linear) {
    const double tolerance =
        std::max({kEpochTolerance * epoch_, kEpochToleranceSteps, 1.0 * view_.sample_distance});
    if (knee.low - tolerance <= epoch_ && epoch_ <= knee.high + tolerance &&
        std::abs(knee.step - epoch_) <= kKneeTolerances * tolerance) {
      const std::vector<double> one(n, 1.0);
      const LinearFit fit =
          FitColumns({one, BeforeKnee(view_.t, knee.step), AfterKnee(view_.t, knee.step)}, view_.y);
      const double slope = fit.b[1];
      base.knee_step = knee_estimate;
      base.evidence.fill_bytes_per_step = slope;
      base.evidence.rise_bytes = slope * epoch_;
      base.evidence.complete = true;
      const double examples = run_.examples_per_step.value_or(0);
      if (examples > 0) {
        base.evidence.per_example_bytes = slope / examples;
        if (run_.limit_bytes.value_or(0) > 0 && slope > 0) {
          base.evidence.examples_that_fit =
              (*run_.limit_bytes - plateau) / (slope / examples) + epoch_ * examples;
        }
      }
      return With(base, VerdictKind::kCacheFill,
                  "growth was straight and ended with the first pass over the data");
    }
  }
  if (!event_steps_.empty() && !linear &&
      std::abs(reading.since - static_cast<double>(event_steps_.front())) <=
          2 * view_.sample_distance + kEpochToleranceSteps &&
      linear_bic > jumpy_bic - kStrongBic) {
    return With(base, VerdictKind::kSpikeRetained,
                "the first event left memory behind, and later ones did not");
  }
  base.knee_step = knee_estimate;
  base.evidence.fill_like = linear;
  return With(base, VerdictKind::kWarmupComplete, "growth has ended");
}

Verdict FewSamples(const Samples& samples, double last_step, double sample_distance, const RunContext& run) {
  const Slope slope = PlainSlope(samples.t, samples.y);
  const double epoch = run.epoch_steps.value_or(0);
  const int missing = kMinSamples - static_cast<int>(samples.t.size());
  Verdict verdict;
  verdict.evidence.from_log_only = true;
  verdict.evidence.level_bytes = Median(samples.y);
  verdict.rate_bytes_per_step = AsEstimate(slope);
  verdict.needs_samples = missing;
  double needs = missing * sample_distance;
  std::string why = "there are only " + std::to_string(samples.t.size()) + " samples";
  Reason reason = Reason::kFewSamples;
  if (epoch > 0 && last_step < epoch) {
    const double left = epoch - last_step;
    const double now = samples.y.back();
    verdict.plateau_bytes =
        Estimate{now + slope.value * left, Interval{now + slope.low * left, now + slope.high * left}};
    why += ", and the first pass over the data has not ended";
    reason = Reason::kFirstPass;
    // Past the end of the pass, with enough samples to show whether growth ended there.
    needs = std::max(
        needs, std::max(kPassMargin * epoch + 2 * sample_distance, epoch + kTailSamples * sample_distance) -
                   last_step);
  }
  verdict.forecast = MakeForecast(samples.y.back(), AsInterval(slope), last_step, run);
  return Inconclusive(verdict, reason, why, std::ceil(needs));
}

}  // namespace

Verdict ClassifyCurve(const series::MemoryCurve& curve, const RunContext& run) {
  Samples samples = LastRun(curve);
  if (samples.t.size() < 2 || samples.t.back() <= samples.t.front()) {
    Verdict verdict;
    verdict.evidence.from_log_only = true;
    verdict.needs_samples = std::max(1.0, kMinSamples - static_cast<double>(samples.t.size()));
    return Inconclusive(verdict, Reason::kFewSamples, "fewer than two steps were sampled", std::nullopt);
  }
  std::vector<double> distances;
  for (size_t i = 1; i < samples.t.size(); ++i) distances.push_back(samples.t[i] - samples.t[i - 1]);
  const double sample_distance = Median(distances);
  const double last_step = samples.t.back();
  const double level = Median(samples.y);
  if (samples.t.size() < static_cast<size_t>(kMinSamples))
    return FewSamples(samples, last_step, sample_distance, run);

  std::vector<int64_t> event_steps = run.EvaluationSteps();
  std::sort(event_steps.begin(), event_steps.end());
  const double spike_bytes = event_steps.empty() ? 0 : CutEvents(event_steps, samples);
  DropGlitches(level, samples);
  Bin(samples);
  return CurveJudge(samples, last_step, level, sample_distance, spike_bytes, std::move(event_steps), run)
      .Judge();
}

}  // namespace plateau::verdict

// The half of SiteJudge for sites that keep something.
#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/verdict/method/first_pass.h"
#include "analyzer/verdict/method/forecast.h"
#include "analyzer/verdict/method/judgement.h"
#include "analyzer/verdict/method/site_judge.h"
#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/method/unbounded.h"
#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::verdict {

Verdict SiteJudge::Leak(const RetentionState& state, Verdict base, std::string component) const {
  base.kind = state.rate < kSlowLeakShare * reference_ ? VerdictKind::kSlowLeak : VerdictKind::kLeak;
  base.why = "memory is kept at a steady rate, and old objects are never freed";
  base.rate_bytes_per_step = Estimate{state.rate, Interval{state.low, state.high}};
  if (state.onset) base.onset_step = *state.onset;
  const Values objects = Values(site_.surv_count).subspan(1, static_cast<size_t>(mature_));
  const size_t last = std::min(objects.size(), std::max<size_t>(kMinWindow, objects.size() / 3));
  base.evidence.objects_per_step = Mean(objects.last(last));
  base.evidence.component = std::move(component);
  base.forecast = MakeForecast(run_.level_now_bytes.value_or(Sum(Window().bytes)),
                               {state.rate, state.low, state.high}, steps_, run_);
  base.forecast.if_cache.reset();
  base.forecast.dataset_factor_that_fits.reset();
  if (base.forecast.outcome != Outcome::kSafeInThisRun) base.forecast.outcome = Outcome::kUnknown;
  return base;
}

Verdict SiteJudge::Slowing(const RetentionState& state, Verdict base) const {
  base.evidence.remaining_bytes = state.remaining;
  if (state.remaining) {
    const double total = Sum(Window().bytes);
    const double remaining = *state.remaining;
    if (remaining < kDecayRest * total) {
      return With(base, VerdictKind::kWarmupComplete,
                  "growth faded out, and less than 2 % of it is still to come");
    }
    const double slack = kLevelError * (total + remaining);
    const Interval rest = state.remaining_interval.value_or(Interval{remaining, remaining});
    base.plateau_bytes = Estimate{
        total + remaining, Interval{std::max(total, total + rest.low - slack), total + rest.high + slack}};
  }
  return With(base, VerdictKind::kWarmupInProgress, "each step keeps less than the steps before it");
}

// Steps that would settle an unclear state: a rule of thumb per reason.
Verdict SiteJudge::Unclear(const RetentionState& state, Verdict base, const char* otherwise) const {
  double needs = steps_;
  if (state.reason == Reason::kRecentStop) {
    const double window = mature_;
    needs = std::max({kSilentGaps * state.spacing - state.silent_steps,
                      (kSilentTailShare * window - state.silent_steps) / (1 - kSilentTailShare), 1.0});
  } else if (state.reason == Reason::kFewSamples) {
    needs = std::max(1, kFewEvents - state.events) * state.spacing;
  } else if (state.reason == Reason::kTooShort) {
    needs = std::max<double>(kMinSteps, epoch_ > 0 ? kPostPassShare * epoch_ : 0);
  }
  return Inconclusive(std::move(base), state.reason, state.why.empty() ? otherwise : state.why,
                      std::ceil(needs));
}

// A leak far below a decaying warm-up: a homogeneous tail whose rate exceeds what the decay leaves.
std::optional<RetentionState> SiteJudge::TailAboveDecay(const RetentionState& full, int from) const {
  const int start = std::max(from, mature_ / 2);
  if (mature_ - start < kRecentEvents || full.fits.empty()) return std::nullopt;
  RetentionState tail = JudgeRetention(Window().From(start), floor_);
  if (tail.state != Retention::kConstant || tail.events < kFewEvents) return std::nullopt;
  const Values bytes = Window().bytes;
  const size_t last = std::min<size_t>(bytes.size(), std::max(kFewEvents, (mature_ - start) / 2));
  const MeanInterval rate = BatchInterval(bytes.last(last), kFewEvents);
  double best = 0;
  bool any = false;
  for (const RateFit& fit : full.fits) {
    if (fit.trend != RateTrend::kSlowing) continue;
    best = any ? std::min(best, fit.bic) : fit.bic;
    any = true;
  }
  double left_by_decay = 0;
  for (const RateFit& fit : full.fits) {
    if (fit.trend != RateTrend::kSlowing) continue;
    if (fit.shape != RateShape::kExponential && fit.bic - best >= kStrongBic) continue;
    left_by_decay = std::max(left_by_decay, fit.end_rate * full.bytes_per_fit_unit);
  }
  if (rate.low > floor_ && rate.low > 2 * left_by_decay) return tail;
  return std::nullopt;
}

Verdict SiteJudge::JudgeStopped(const RetentionState& full, Verdict base) {
  base.evidence.models = full.Scores();
  base.evidence.silent_steps = full.silent_steps;
  const SurvivorWindow window = Window();
  if (epoch_ > 0 && mature_ > std::ceil(epoch_) + 1) {
    Verdict verdict = FillOrWarmup(window, full, run_);
    verdict.evidence.models = base.evidence.models;
    verdict.evidence.silent_steps = base.evidence.silent_steps;
    return verdict;
  }
  base.by_step = full.last_step;
  base.evidence.fill_like = LooksLikeFill(window.bytes, full.last_step);
  return With(base, VerdictKind::kWarmupComplete, "nothing has been kept for a while");
}

Verdict SiteJudge::JudgeAfterFirstPass(const RetentionState& full, int pass_end, Verdict base) {
  const SurvivorWindow window = Window();
  const SurvivorWindow after = window.From(pass_end);
  const RetentionState post = JudgeRetention(after, floor_);
  base.evidence.post_models = post.Scores();
  const double rate_before = Mean(window.bytes.first(pass_end));
  const double rate_after = Mean(after.bytes);
  const auto retaining_after =
      std::count_if(after.bytes.begin(), after.bytes.end(), [](double v) { return v > 0; });
  const int onset = full.onset.value_or(1);

  // The same rate before and after the first pass: a leak without any cache in it.
  if (full.state == Retention::kConstant && onset <= 0.5 * pass_end && rate_after > 0.5 * rate_before &&
      retaining_after >= kMinRetaining) {
    return Leak(full, base);
  }
  if (post.state != Retention::kZero && post.state != Retention::kConstant) {
    if (std::optional<RetentionState> tail = TailAboveDecay(full, pass_end)) {
      return Leak(*tail, base, "A warm-up came before it and faded out.");
    }
  }
  switch (post.state) {
    case Retention::kZero:
      break;
    case Retention::kConstant: {
      // A decay that explains both sides of the pass wins over "constant after the pass".
      if (full.state == Retention::kSlowing) {
        base.evidence.remaining_bytes = full.remaining;
        return With(base, VerdictKind::kWarmupInProgress,
                    "each step keeps less than the steps before it, over the whole run");
      }
      if (full.slowing_possible && rate_before > kFasterBefore * rate_after &&
          full.state != Retention::kConstant) {
        base.rate_bytes_per_step = Estimate{post.rate, Interval{post.low, post.high}};
        return Inconclusive(
            base, Reason::kShapesNotSeparable,
            "growth became slower after the first pass over the data, and may go on slowing down", steps_);
      }
      if (rate_before <= kFasterBefore * rate_after) return Leak(post, base);
      return Leak(post, base,
                  "Before it, the first pass over the data filled a cache by another " +
                      RateText(rate_before - rate_after) + ".");
    }
    case Retention::kStopped:
      base.by_step = post.last_step;
      return With(base, VerdictKind::kWarmupComplete, "nothing has been kept for a while");
    case Retention::kSlowing:
    case Retention::kUnclear:
      if (full.state == Retention::kSlowing) return Slowing(full, base);
      if (post.state == Retention::kSlowing) return Slowing(post, base);
      if (full.state == Retention::kStopped && post.silent_steps > 0) break;
      if (full.state == Retention::kConstant &&
          (onset > pass_end || full.shape == RateShape::kExponentialPlusConstant)) {
        return Leak(full, base);
      }
      return Unclear(post, base, "growth after the first pass over the data has no clear shape");
  }
  Verdict verdict = FillOrWarmup(window, full, run_);
  verdict.evidence.models = base.evidence.models;
  verdict.evidence.post_models = base.evidence.post_models;
  verdict.evidence.silent_steps = base.evidence.silent_steps;
  return verdict;
}

// Would the steps before the onset have retained something, had it begun with the pass? Where few retain, or few
// records were sampled, the first one may come late by chance, and a cache that fills looks like a late leak.
bool SiteJudge::OnsetIsSure(const RetentionState& full) const {
  const SurvivorWindow window = Window();
  const size_t before = static_cast<size_t>(*full.onset - window.first_step);
  if (before >= window.bytes.size()) return false;
  const Values after = window.bytes.subspan(before);
  const auto retaining = std::count_if(after.begin(), after.end(), [](double v) { return v > 0; });
  const double per_step = static_cast<double>(retaining) / static_cast<double>(after.size());
  return per_step * static_cast<double>(before) >= kOnsetMissed;
}

Verdict SiteJudge::JudgeDuringFirstPass(const RetentionState& full, int pass_end, int needed, Verdict base) {
  const SurvivorWindow window = Window();
  const double pass_needs = pass_end + needed + horizon_ - steps_;
  switch (full.state) {
    case Retention::kZero:
      return With(base, VerdictKind::kSteady, "nothing material is retained");
    case Retention::kStopped:
      base.by_step = full.last_step;
      base.evidence.fill_like = LooksLikeFill(window.bytes, full.last_step);
      return With(base, VerdictKind::kWarmupComplete, "nothing has been kept for a while");
    case Retention::kSlowing:
      return Slowing(full, base);
    case Retention::kUnclear: {
      Verdict verdict = Unclear(full, base, "its growth has no clear shape");
      if (epoch_ > 0 && verdict.needs_steps) verdict.needs_steps = std::max(*verdict.needs_steps, pass_needs);
      return verdict;
    }
    case Retention::kConstant:
      break;
  }
  if (run_.has_no_pass && epoch_ <= 0) {
    return JudgeUnbounded(window, full, Values(site_.surv_count).subspan(1), run_, std::move(base));
  }
  if (*full.onset > std::max<double>(kMinWindow, kLateOnset * mature_) && OnsetIsSure(full))
    return Leak(full, base);

  double sampling_variance = 0;
  if (!window.variance.empty())
    sampling_variance = Sum(window.variance) / (static_cast<double>(mature_) * mature_);
  const MeanInterval rate = BatchInterval(window.bytes, kRateBatches, sampling_variance);
  base.rate_bytes_per_step = Estimate{rate.mean, Interval{rate.low, rate.high}};
  const double total = Sum(window.bytes);
  if (epoch_ > 0) {
    const double left = std::max(0.0, epoch_ - mature_);
    const double error =
        (rate.high - rate.low) / 2 / TQuantile(std::min(kRateBatches, std::max(2, mature_ / 3)));
    const double total_variance = sampling_variance * mature_ * mature_;
    const double half = kForecastErrors * std::sqrt(error * error * left * left +
                                                    error * error * mature_ * left + total_variance);
    const double plateau = total + rate.mean * left;
    base.plateau_bytes = Estimate{plateau, Interval{plateau - half, plateau + half}};
  }
  base.forecast = MakeForecast(run_.level_now_bytes.value_or(total), rate, steps_, run_);
  if (epoch_ > 0) {
    return Inconclusive(base, Reason::kFirstPass, "the first pass over the data has not ended", pass_needs);
  }
  return Inconclusive(
      base, Reason::kEpochUnknown,
      "the length of an epoch is unknown, so it may be a leak or a cache that the first pass fills",
      std::nullopt);
}

}  // namespace plateau::verdict

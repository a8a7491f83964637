#include "analyzer/verdict/method/site_classifier.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "analyzer/verdict/method/container.h"
#include "analyzer/verdict/method/events.h"
#include "analyzer/verdict/method/first_pass.h"
#include "analyzer/verdict/method/forecast.h"
#include "analyzer/verdict/method/judgement.h"
#include "analyzer/verdict/method/lifetimes.h"
#include "analyzer/verdict/method/replaced.h"
#include "analyzer/verdict/method/retention_state.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/method/unbounded.h"

namespace plateau::verdict {
namespace {

using series::RunContext;
using series::SiteSeries;

// One site on its way to a verdict. Each Judge...() either answers or leaves the question to the next.
class SiteJudge {
 public:
  SiteJudge(const SiteSeries& site, const RunContext& run)
      : site_(site),
        run_(run),
        steps_(static_cast<int>(run.steps)),
        floor_(FloorRate(run)),
        reference_(run.Reference()),
        epoch_(run.epoch_steps.value_or(0)) {}

  Verdict Judge();

 private:
  bool coarse() const { return run_.bucket_steps > 1; }
  Values allocated() const { return Values(site_.alloc_bytes).subspan(1); }
  SurvivorWindow Window() const {
    const size_t n = static_cast<size_t>(mature_);
    return {Values(site_.surv_bytes).subspan(1, n),
            Values(site_.surv_records.empty() ? site_.surv_count : site_.surv_records).subspan(1, n),
            site_.surv_variance.empty() ? Values() : Values(site_.surv_variance).subspan(1, n), 1};
  }

  Verdict JudgeNothingRetained();
  bool ReachesNewHighs(const std::vector<double>& live) const;
  std::optional<Verdict> JudgeFilled(const std::vector<double>& live) const;
  void NoteEpochCycle(const std::vector<double>& live, Verdict& verdict) const;
  bool ExplainedByLoss() const;
  Verdict JudgeRetained();
  Verdict JudgeAfterFirstPass(const RetentionState& full, int pass_end, Verdict base);
  Verdict JudgeDuringFirstPass(const RetentionState& full, int pass_end, int needed, Verdict base);
  bool OnsetIsSure(const RetentionState& full) const;
  bool HasStoppedWithYoungOnes(RetentionState* full);
  Verdict JudgeStopped(const RetentionState& full, Verdict base);
  Verdict UnlessLevel(Verdict verdict) const;
  void SetHorizon(int horizon) {
    horizon_ = horizon;
    mature_ = steps_ - horizon;
  }
  std::optional<RetentionState> TailAboveDecay(const RetentionState& full, int from) const;

  Verdict Leak(const RetentionState& state, Verdict base, std::string component = "") const;
  Verdict Slowing(const RetentionState& state, Verdict base) const;
  Verdict Unclear(const RetentionState& state, Verdict base, const char* otherwise) const;

  const SiteSeries& site_;
  const RunContext& run_;
  const int steps_;
  const double floor_;
  const double reference_;
  const double epoch_;  // 0 when unknown
  int horizon_ = 0;     // W
  int mature_ = 0;      // M = T - W
};

Verdict SiteJudge::Judge() {
  Verdict base;
  if (steps_ < kMinSteps) {
    base.evidence.floor_bytes_per_step = floor_;
    return Inconclusive(base, Reason::kTooShort, "the run is too short", kMinSteps - steps_);
  }
  Maturity maturity = FindMaturity(site_, steps_, floor_);
  if (coarse() && maturity.kind != Maturity::Kind::kTurnover) {  // ages are known to one bucket only
    maturity.horizon = std::min(maturity.horizon + 1, steps_ - 2);
    const int mature = steps_ - maturity.horizon;
    if (maturity.kind == Maturity::Kind::kRetains &&
        Sum(Values(site_.surv_bytes).subspan(1, mature)) < floor_ * mature) {
      maturity.kind = Maturity::Kind::kNothing;
    }
  }
  Verdict verdict;
  if (std::optional<Verdict> container = JudgeContainer(site_, steps_, floor_)) {
    verdict = *std::move(container);
  } else if (maturity.kind == Maturity::Kind::kTurnover) {
    verdict = JudgeTurnover(site_, steps_);
  } else {
    SetHorizon(maturity.horizon);
    verdict =
        maturity.kind == Maturity::Kind::kNothing ? JudgeNothingRetained() : UnlessLevel(JudgeRetained());
    verdict.evidence.maturity_steps = horizon_;
    verdict.evidence.mature_steps = mature_;
    if (!verdict.evidence.retained_bytes) verdict.evidence.retained_bytes = Sum(Window().bytes);
  }
  verdict.evidence.floor_bytes_per_step = floor_;
  return verdict;
}

bool SiteJudge::ReachesNewHighs(const std::vector<double>& live) const {
  const size_t early = static_cast<size_t>(kEarlyShare * steps_);
  const size_t late = static_cast<size_t>(kLateBegin * steps_);
  const Values alloc = allocated();
  const size_t late_end = coarse() ? alloc.size() - 1 : alloc.size();  // the last bucket may be partial
  // By Little's law the stock in flight follows the flow of allocations.
  const double flow =
      std::max(1.0, Mean(alloc.subspan(late, late_end - late)) / std::max(Mean(alloc.first(early)), 1.0));
  const Values recent = Values(live).subspan(late);
  const bool short_lived = horizon_ < kShortLivedShare * steps_;
  const double now = short_lived ? Min(recent) : Max(recent);
  const double before = Max(Values(live).first(early));
  const double factor = (short_lived ? kNewHigh : kNewHighLongLived) + (coarse() ? kNewHighCoarse : 0);
  return now > factor * before * flow && now - before > floor_ * steps_;
}

void SiteJudge::NoteEpochCycle(const std::vector<double>& live, Verdict& verdict) const {
  if (epoch_ <= 0 || steps_ <= kBeyondPass * epoch_) return;
  std::vector<double> drops;
  for (int j = 1; j <= static_cast<int>((steps_ - 2) / epoch_); ++j) {
    const int edge = static_cast<int>(std::nearbyint(j * epoch_));
    const int begin = std::max(0, edge - kEdgeSteps);
    const int end = std::min(steps_, edge + kEdgeSteps + 1) + 1;
    if (edge >= end) continue;
    drops.push_back(Max(Values(live).subspan(begin, edge + 1 - begin)) -
                    Min(Values(live).subspan(edge, end - edge)));
  }
  const double amplitude = Max(Values(live).subspan(1)) - Min(Values(live).subspan(1));
  if (drops.empty() || amplitude <= kProcessMaterial * reference_ || Median(drops) <= 0.5 * amplitude) return;
  verdict.evidence.event = "epoch";
  verdict.evidence.event_count = static_cast<int>(drops.size());
  verdict.evidence.cycle_amplitude_bytes = amplitude;
}

// A ring or queue of long-lived objects that grew from nothing to a material level, and stays there.
std::optional<Verdict> SiteJudge::JudgeFilled(const std::vector<double>& live) const {
  if (horizon_ < kFillTakesShare * steps_) return std::nullopt;
  const size_t tail = live.size() - static_cast<size_t>(kNowShare * static_cast<double>(live.size()));
  const double now = Mean(Values(live).subspan(std::min(tail, live.size() - 1))) - live[0];
  if (now <= kProcessMaterial * reference_) return std::nullopt;
  const std::optional<int> filled = FilledBy(live, now, steps_);
  // What dies in the step of its birth is no part of the level.
  const double births = Mean(allocated()) - (site_.death_bytes[0] + site_.death_bytes[1]) / steps_;
  if (!filled || births <= 0) return std::nullopt;
  Verdict verdict;
  verdict.by_step = *filled;
  verdict.plateau_bytes = Estimate{now, std::nullopt};
  verdict.evidence.retained_bytes = now;
  verdict.evidence.live_bytes = now;
  verdict.evidence.mean_life_steps = now / births;  // Little's law
  return With(verdict, VerdictKind::kWarmupComplete,
              "it filled up, and objects die since as fast as they are born");
}

// What was born lately stays, and yet the level has not risen lately: old objects make room for new ones. The
// end of growth is where the level was reached.
Verdict SiteJudge::UnlessLevel(Verdict verdict) const {
  const bool goes_on = GrowsWithoutEnd(verdict.kind) || verdict.kind == VerdictKind::kInconclusive;
  if (!goes_on || !verdict.rate_bytes_per_step || verdict.kind == VerdictKind::kStaircase) return verdict;
  const std::vector<double> live = site_.LiveBytes();
  const size_t begin = live.size() - live.size() / 3;
  std::vector<double> step, level;
  for (size_t k = std::max<size_t>(begin, 3); k < live.size(); ++k) {
    step.push_back(static_cast<double>(k));
    level.push_back(std::min({live[k - 2], live[k - 1], live[k]}));
  }
  if (level.size() < kMinSlopeSamples) return verdict;
  if (RobustSlope(step, level).high >= kLevelRise * verdict.rate_bytes_per_step->value) return verdict;
  const double now = Mean(level) - live[0];
  Verdict base;
  base.evidence = verdict.evidence;
  base.evidence.live_bytes = now;
  const std::optional<int> filled = FilledBy(live, now, steps_);
  if (!filled) {
    return Inconclusive(std::move(base), Reason::kNothingOldEnough,
                        "its level has not risen lately, and its objects live about as long as the run",
                        steps_);
  }
  base.by_step = *filled;
  base.evidence.retained_bytes = now;
  return With(std::move(base), VerdictKind::kWarmupComplete,
              "it filled up, and its level has not risen since");
}

Verdict SiteJudge::JudgeNothingRetained() {
  Verdict base;
  const std::vector<double> live = site_.LiveBytes();
  if (std::optional<Verdict> replaced = JudgeReplaced(site_, run_)) return *std::move(replaced);
  if (ReachesNewHighs(live)) {
    base.evidence.live_bytes = live.back() - live[0];
    return Inconclusive(base, Reason::kNothingOldEnough,
                        "the live level still reaches new highs and nothing is old enough yet", steps_);
  }
  if (std::optional<Verdict> filled = JudgeFilled(live)) return *std::move(filled);
  const Values alloc = allocated();
  const double objects = Sum(Values(site_.alloc_count).subspan(1));
  const double mean_bytes = objects > 0 ? Sum(alloc) / objects : 0;
  const double interval_bytes = site_.surv_variance.empty()
                                    ? run_.sample_interval_bytes
                                    : std::max(run_.sample_interval_bytes, run_.sampled_site_interval_bytes);
  const double object_bytes =
      std::max(site_.object_bytes > 0 ? site_.object_bytes : mean_bytes, interval_bytes);
  base.detectable_bytes_per_step = std::max(2 * floor_, kSeenObjects * object_bytes / std::max(mature_, 1));
  NoteEpochCycle(live, base);

  std::vector<bool> at_event(steps_, false);
  int events = 0;
  for (int64_t step : run_.EvaluationSteps()) {
    if (step < 1 || step > steps_) continue;
    at_event[step - 1] = true;
    ++events;
  }
  if (events > 0) {
    std::vector<double> there, elsewhere;
    for (int i = 0; i < steps_; ++i) (at_event[i] ? there : elsewhere).push_back(alloc[i]);
    const double excess = Mean(there) - Median(elsewhere);
    if (excess > kProcessMaterial * reference_) {
      base.evidence.spike_bytes = excess;
      base.evidence.event_count = events;
      return With(base, VerdictKind::kSpikeRecovered,
                  "events allocate more than other steps and everything is freed");
    }
  }
  return With(base, VerdictKind::kSteady, "nothing material survives");
}

bool SiteJudge::ExplainedByLoss() const {
  if (run_.lost_rate <= 0) return false;
  const SurvivorWindow window = Window();
  const double survivors = Sum(Values(site_.surv_count).subspan(1, static_cast<size_t>(mature_)));
  const double lost_objects = run_.lost_rate * Sum(Values(site_.alloc_count).subspan(1));
  return Mean(window.bytes) <= kLossMultiple * run_.lost_rate * Mean(allocated()) ||
         survivors <= lost_objects + kLossMultiple * std::sqrt(lost_objects) + kLossMultiple;
}

Verdict SiteJudge::Leak(const RetentionState& state, Verdict base, std::string component) const {
  base.kind = state.rate < kSlowLeakShare * reference_ ? VerdictKind::kSlowLeak : VerdictKind::kLeak;
  base.why = "retained at a steady rate, and old objects never die";
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
      return With(base, VerdictKind::kWarmupComplete, "a decay whose rest is below 2 %");
    }
    const double slack = kLevelError * (total + remaining);
    const Interval rest = state.remaining_interval.value_or(Interval{remaining, remaining});
    base.plateau_bytes = Estimate{
        total + remaining, Interval{std::max(total, total + rest.low - slack), total + rest.high + slack}};
  }
  return With(base, VerdictKind::kWarmupInProgress, "the retention rate is falling");
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

// Births that are too young to count can only make the end look fuller than it is: where even with them nothing has
// been kept for long, the growth has stopped. A long horizon hides such an end.
bool SiteJudge::HasStoppedWithYoungOnes(RetentionState* full) {
  if (full->state == Retention::kZero || full->state == Retention::kStopped || horizon_ <= 1) return false;
  const int horizon = horizon_;
  SetHorizon(1);
  RetentionState with_young = JudgeRetention(Window(), floor_);
  if (with_young.state != Retention::kStopped) {
    SetHorizon(horizon);
    return false;
  }
  *full = std::move(with_young);
  return true;
}

Verdict SiteJudge::JudgeRetained() {
  Verdict base;
  const SurvivorWindow window = Window();
  if (ExplainedByLoss()) {
    base.evidence.loss_limited = true;
    base.detectable_bytes_per_step = kLossMultiple * run_.lost_rate * Mean(allocated());
    return With(base, VerdictKind::kSteady, "survivors are explained by lost free events");
  }
  if (std::optional<Verdict> fill = FillByUniqueExamples(window.bytes, run_)) return *std::move(fill);
  if (std::optional<Verdict> events = JudgeEvents(window.bytes, Values(site_.surv_bytes).subspan(1), run_)) {
    if (events->needs_steps) *events->needs_steps += horizon_;
    // Jumps that nobody marked may be a cache that takes its entries in batches.
    const bool is_unmarked =
        events->kind == VerdictKind::kStaircase && !run_.FindEvents(events->evidence.event);
    if (is_unmarked && run_.has_no_pass && epoch_ <= 0) {
      events->evidence.entries = Sum(Values(site_.surv_count).subspan(1));
      events->evidence.retained_bytes = Sum(window.bytes);
      const double wanted = site_.surv_variance.empty() ? kUnboundedStairs : kUnboundedBirths;
      if (Sum(window.objects) < wanted) {
        return Inconclusive(*std::move(events), Reason::kFewSamples,
                            "jumps at equal distances kept memory, and few of them were seen", steps_);
      }
      events->kind = VerdictKind::kUnboundedGrowth;
    }
    return *std::move(events);
  }
  RetentionState full = JudgeRetention(window, floor_);
  if (HasStoppedWithYoungOnes(&full)) return JudgeStopped(full, std::move(base));
  base.evidence.models = full.Scores();
  if (full.events > 0) base.evidence.silent_steps = full.silent_steps;
  const int pass_end = epoch_ > 0 ? static_cast<int>(std::ceil(epoch_)) + 1 : 0;
  const int needed =
      epoch_ > 0 ? std::max(kPostPassSteps, static_cast<int>(std::ceil(kPostPassShare * epoch_))) : 0;
  if (epoch_ > 0 && mature_ - pass_end >= needed) {
    Verdict after = JudgeAfterFirstPass(full, pass_end, std::move(base));
    if (!IsLeak(after.kind) || ExcludesFillByExamples(window.bytes, run_)) return after;
    return Inconclusive(std::move(after), Reason::kFirstPass,
                        "examples still come for the first time, and a cache of them is not excluded",
                        epoch_);
  }
  return JudgeDuringFirstPass(full, pass_end, needed, std::move(base));
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
  return With(base, VerdictKind::kWarmupComplete, "nothing has been retained for a while");
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
      return Leak(*tail, base, "a decaying warm-up before");
    }
  }
  switch (post.state) {
    case Retention::kZero:
      break;
    case Retention::kConstant: {
      // A decay that explains both sides of the pass wins over "constant after the pass".
      if (full.state == Retention::kSlowing) {
        base.evidence.remaining_bytes = full.remaining;
        return With(base, VerdictKind::kWarmupInProgress, "the retention rate is falling over the whole run");
      }
      if (full.slowing_possible && rate_before > kFasterBefore * rate_after &&
          full.state != Retention::kConstant) {
        base.rate_bytes_per_step = Estimate{post.rate, Interval{post.low, post.high}};
        return Inconclusive(base, Reason::kShapesNotSeparable,
                            "the rate fell after the first pass: slowing growth is not excluded", steps_);
      }
      char component[96] = "";
      if (rate_before > kFasterBefore * rate_after) {
        std::snprintf(component, sizeof component, "a first-pass fill of %.0f bytes/step before",
                      rate_before - rate_after);
      }
      return Leak(post, base, component);
    }
    case Retention::kStopped:
      base.by_step = post.last_step;
      return With(base, VerdictKind::kWarmupComplete, "nothing has been retained for a while");
    case Retention::kSlowing:
    case Retention::kUnclear:
      if (full.state == Retention::kSlowing) return Slowing(full, base);
      if (post.state == Retention::kSlowing) return Slowing(post, base);
      if (full.state == Retention::kStopped && post.silent_steps > 0) break;
      if (full.state == Retention::kConstant &&
          (onset > pass_end || full.shape == RateShape::kExponentialPlusConstant)) {
        return Leak(full, base);
      }
      return Unclear(post, base, "growth after the first pass has no clear shape");
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
      return With(base, VerdictKind::kWarmupComplete, "nothing has been retained for a while");
    case Retention::kSlowing:
      return Slowing(full, base);
    case Retention::kUnclear: {
      Verdict verdict = Unclear(full, base, "no shape could be told");
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
    return Inconclusive(base, Reason::kFirstPass, "the first pass over the data is not finished", pass_needs);
  }
  return Inconclusive(base, Reason::kEpochUnknown, "the epoch length is unknown: a leak or a first-pass fill",
                      std::nullopt);
}

}  // namespace

Verdict ClassifySite(const SiteSeries& site, const RunContext& run) { return SiteJudge(site, run).Judge(); }

Verdict ClassifySiteInSteps(const SiteSeries& site, const RunContext& run_in_steps, int64_t bucket_steps) {
  if (bucket_steps <= 1) return ClassifySite(site, run_in_steps);
  return FromBuckets(ClassifySite(site, run_in_steps.InBuckets(bucket_steps)),
                     static_cast<double>(bucket_steps));
}

}  // namespace plateau::verdict

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
#include "analyzer/verdict/method/site_judge.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/method/unbounded.h"

namespace plateau::verdict {

using series::RunContext;
using series::SiteSeries;

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
              "it filled up, and since then as much is freed as is made");
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
                        "its level still reaches new highs, and nothing is old enough yet to see what stays",
                        steps_);
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
                  "events need more memory than other steps, and all of it is freed");
    }
  }
  return With(base, VerdictKind::kSteady, "nothing that matters stays");
}

bool SiteJudge::ExplainedByLoss() const {
  if (run_.lost_rate <= 0) return false;
  const SurvivorWindow window = Window();
  const double survivors = Sum(Values(site_.surv_count).subspan(1, static_cast<size_t>(mature_)));
  const double lost_objects = run_.lost_rate * Sum(Values(site_.alloc_count).subspan(1));
  return Mean(window.bytes) <= kLossMultiple * run_.lost_rate * Mean(allocated()) ||
         survivors <= lost_objects + kLossMultiple * std::sqrt(lost_objects) + kLossMultiple;
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
    return With(base, VerdictKind::kSteady,
                "what seems to stay is explained by lost events of blocks that were freed");
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
                            "memory rises in jumps at equal distances, and few of them were seen", steps_);
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
                        "some examples still come for the first time, so it may be a cache of them", epoch_);
  }
  return JudgeDuringFirstPass(full, pass_end, needed, std::move(base));
}

Verdict ClassifySite(const SiteSeries& site, const RunContext& run) { return SiteJudge(site, run).Judge(); }

Verdict ClassifySiteInSteps(const SiteSeries& site, const RunContext& run_in_steps, int64_t bucket_steps) {
  if (bucket_steps <= 1) return ClassifySite(site, run_in_steps);
  return FromBuckets(ClassifySite(site, run_in_steps.InBuckets(bucket_steps)),
                     static_cast<double>(bucket_steps));
}

}  // namespace plateau::verdict

#include "analyzer/verdict/honesty.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/verdict/method/judgement.h"
#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::verdict {
namespace {

// Nobody knows yet whether it ends.
bool IsOpen(const Verdict& verdict) {
  return verdict.kind == VerdictKind::kInconclusive || verdict.kind == VerdictKind::kUnboundedGrowth;
}

bool SurelyGrows(const Estimate& growth) { return growth.value > 0 && LowOf(growth) > 0; }

bool SurelyGrows(const SiteFinding& site) { return SurelyGrows(site.growth_bytes_per_step); }

// A rate over the run says nothing of a growth that has ended.
bool SurelyGrewOverRun(const SiteFinding& site) {
  const Estimate& run = site.growth_over_run_bytes_per_step;
  return SurelyGrows(run) && run.value > site.verdict.evidence.floor_bytes_per_step &&
         site.growth_bytes_per_step.value >= kStillGrowingShare * run.value;
}

// Undecided, and neither for want of records nor because it may have ended.
bool IsUndecidedAndGoesOn(const Verdict& verdict) {
  if (verdict.kind != VerdictKind::kInconclusive) return false;
  return verdict.reason != Reason::kFewSamples && verdict.reason != Reason::kLossLimited &&
         verdict.reason != Reason::kRecentStop;
}

}  // namespace

bool IsUndecidedGrowth(const Verdict& verdict) {
  return verdict.kind == VerdictKind::kInconclusive && verdict.rate_bytes_per_step &&
         verdict.rate_bytes_per_step->value > 0;
}

int HeadlineRank(VerdictKind kind, bool grows) {
  constexpr int kUndecidedWithoutGrowth = 4;
  if (kind == VerdictKind::kInconclusive && !grows) return kUndecidedWithoutGrowth;
  return SeverityRank(kind);
}

int HeadlineRank(const Verdict& verdict) { return HeadlineRank(verdict.kind, IsUndecidedGrowth(verdict)); }

bool IsAllClear(VerdictKind kind) {
  return kind == VerdictKind::kSteady || kind == VerdictKind::kSpikeRecovered ||
         kind == VerdictKind::kAllocatorRetention;
}

double DetectableAtSites(std::span<const SiteFinding> sites) {
  double largest = 0;
  for (const SiteFinding& site : sites)
    largest = std::max(largest, site.verdict.detectable_bytes_per_step.value_or(0));
  return largest;
}

bool GrowsMaterially(const SiteFinding& site, double detectable_bytes_per_step, const ProcessFacts& facts) {
  const double growth = site.growth_bytes_per_step.value;
  if (!IsOpen(site.verdict) || growth <= site.verdict.evidence.floor_bytes_per_step) return false;
  if (facts.counts_steps && IsUndecidedAndGoesOn(site.verdict))
    return SurelyGrows(site) || SurelyGrewOverRun(site);
  if (!SurelyGrows(site)) return false;
  if (site.retained_bytes > kProcessMaterial * facts.reference_bytes) return true;
  if (!facts.counts_steps) {
    // What the imports of a large framework hold says nothing about the work after them.
    return site.verdict.kind == VerdictKind::kUnboundedGrowth &&
           site.retained_bytes > kUnboundedMaterial * facts.reference_bytes;
  }
  return site.verdict.kind == VerdictKind::kUnboundedGrowth || growth > detectable_bytes_per_step ||
         facts.steps < kAllClearSteps;
}

std::optional<Verdict> JudgeUnexplained(const OverheadFact& unexplained, double detectable_bytes_per_step,
                                        double reference_bytes) {
  const double rate = unexplained.slope.value;
  const bool grows = unexplained.known && unexplained.growth == Growth::kGrowing && unexplained.slope.low > 0;
  if (!grows || rate <= detectable_bytes_per_step) return std::nullopt;
  if (unexplained.rise <= kUnexplainedMaterial * reference_bytes) return std::nullopt;
  Verdict verdict;
  verdict.rate_bytes_per_step = Estimate{rate, Interval{unexplained.slope.low, unexplained.slope.high}};
  return Inconclusive(std::move(verdict), Reason::kUnexplainedGrowth,
                      "resident memory grows, and no line, allocator or file explains it", std::nullopt);
}

AllClear JudgeAllClear(std::span<const SiteFinding> sites, const ProcessFacts& facts) {
  AllClear result;
  result.detectable_bytes_per_step = DetectableAtSites(sites);
  for (const SiteFinding& site : sites) {
    if (!IsOpen(site.verdict)) continue;
    result.detectable_bytes_per_step =
        std::max(result.detectable_bytes_per_step, HighOf(site.growth_bytes_per_step));
  }
  if (facts.unexplained.known) {
    result.detectable_bytes_per_step =
        std::max(result.detectable_bytes_per_step, facts.unexplained.slope.high);
  }
  Verdict instead;
  if (!std::isfinite(result.detectable_bytes_per_step)) {
    result.detectable_bytes_per_step = 0;
    result.instead =
        Inconclusive(instead, Reason::kFewSamples,
                     "nothing was seen to grow, but resident memory was read too seldom for an all-clear",
                     static_cast<double>(facts.steps));
    return result;
  }
  // Where the process surely grows by more than the sites could hide, X is what the process could hide. As much as
  // matters, or beside a site that is surely growing, it is no all-clear.
  const OverheadFact& process = facts.anonymous;
  const bool process_grows =
      process.growth == Growth::kGrowing && process.slope.low > result.detectable_bytes_per_step;
  const bool is_material = process.late_gain > kUnexplainedMaterial * facts.anonymous_peak_bytes;
  const bool site_grows = std::any_of(sites.begin(), sites.end(), [](const SiteFinding& site) {
    return IsOpen(site.verdict) && SurelyGrows(site) &&
           site.growth_bytes_per_step.value > site.verdict.evidence.floor_bytes_per_step;
  });
  const bool grows_on = process_grows && (is_material || site_grows);
  if (process_grows) result.detectable_bytes_per_step = process.slope.high;
  if (grows_on) {
    instead.rate_bytes_per_step =
        Estimate{process.slope.value, Interval{process.slope.low, process.slope.high}};
    result.instead =
        Inconclusive(instead, Reason::kUnexplainedGrowth,
                     "resident memory grows to the end, and what call sites keep does not explain it",
                     static_cast<double>(facts.steps));
  } else if (!facts.not_covered.empty()) {
    result.instead =
        Inconclusive(instead, Reason::kNotCovered,
                     "nothing grew in what was recorded, but " + facts.not_covered.front(), std::nullopt);
  } else if (facts.steps < kAllClearSteps) {
    result.instead = Inconclusive(instead, Reason::kTooShort,
                                  "nothing was seen to grow so far, and " +
                                      CountText(static_cast<double>(facts.steps), "step") +
                                      " are too few for an all-clear",
                                  static_cast<double>(kAllClearSteps - facts.steps));
  }
  return result;
}

const Estimate& SurestGrowth(const SiteFinding& site) {
  const bool over_run = !SurelyGrows(site) && SurelyGrewOverRun(site);
  return over_run ? site.growth_over_run_bytes_per_step : site.growth_bytes_per_step;
}

std::optional<size_t> FastestUndecided(std::span<const SiteFinding> sites) {
  std::optional<size_t> fastest;
  for (size_t i = 0; i < sites.size(); ++i) {
    const bool may_grow =
        sites[i].verdict.kind == VerdictKind::kInconclusive && sites[i].growth_bytes_per_step.value > 0;
    if (!may_grow) continue;
    if (!fastest || HighOf(sites[i].growth_bytes_per_step) > HighOf(sites[*fastest].growth_bytes_per_step))
      fastest = i;
  }
  return fastest;
}

double GrowthOfSites(std::span<const SiteFinding> sites) {
  double sum = 0;
  for (const SiteFinding& site : sites) sum += std::max(0.0, site.growth_bytes_per_step.value);
  return sum;
}

std::optional<size_t> WhoPinsTheHeap(std::span<const SiteFinding> sites) {
  double all = 0, open = 0;
  std::optional<size_t> most;
  const auto weight = [&](size_t i) { return std::pair(sites[i].hole_bytes, sites[i].kept_in_steps_bytes); };
  for (size_t i = 0; i < sites.size(); ++i) {
    const Verdict& verdict = sites[i].verdict;
    if (IsAllClear(verdict.kind)) continue;  // what it holds is in flight
    all += sites[i].kept_in_steps_bytes;
    const bool may_go_on = IsOpen(verdict) || IsLeak(verdict.kind);
    if (!may_go_on || verdict.reason == Reason::kRecentStop || sites[i].kept_in_steps_bytes <= 0) continue;
    open += sites[i].kept_in_steps_bytes;
    if (!most || weight(i) > weight(*most)) most = i;
  }
  if (!most || open <= kPinningShare * all) return std::nullopt;
  return most;
}

}  // namespace plateau::verdict

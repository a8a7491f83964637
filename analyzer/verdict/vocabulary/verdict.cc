#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {
namespace {

void Divide(std::optional<double>& value, double width) {
  if (value) *value /= width;
}
void Multiply(std::optional<double>& value, double width) {
  if (value) *value *= width;
}
void Scale(std::optional<Estimate>& estimate, double factor) {
  if (!estimate) return;
  estimate->value *= factor;
  if (estimate->interval) {
    estimate->interval->low *= factor;
    estimate->interval->high *= factor;
  }
}

}  // namespace

std::string_view ReasonName(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "";
    case Reason::kFirstPass:
      return "first_pass";
    case Reason::kEpochUnknown:
      return "epoch_unknown";
    case Reason::kTooShort:
      return "too_short";
    case Reason::kRecentStop:
      return "recent_stop";
    case Reason::kTwoEvents:
      return "two_events";
    case Reason::kShapesNotSeparable:
      return "shapes_not_separable";
    case Reason::kNothingOldEnough:
      return "nothing_old_enough";
    case Reason::kFewSamples:
      return "few_samples";
    case Reason::kLossLimited:
      return "loss_limited";
    case Reason::kNoSteps:
      return "no_steps";
    case Reason::kUnexplainedGrowth:
      return "unexplained_growth";
    case Reason::kNotCovered:
      return "not_covered";
    case Reason::kContainerGrows:
      return "container_grows";
    case Reason::kWaitsForCollector:
      return "waits_for_collector";
  }
  return "";
}

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kUnknown:
      return "";
    case Outcome::kOomEitherWay:
      return "oom_either_way";
    case Outcome::kOomOnlyIfLeak:
      return "oom_only_if_leak";
    case Outcome::kOomPossibleEitherWay:
      return "oom_possible_either_way";
    case Outcome::kSafeInThisRun:
      return "safe_in_this_run";
  }
  return "";
}

Verdict FromBuckets(Verdict verdict, double width) {
  if (width <= 1) return verdict;
  Scale(verdict.rate_bytes_per_step, 1 / width);
  Scale(verdict.knee_step, width);
  Multiply(verdict.by_step, width);
  Multiply(verdict.needs_steps, width);
  Divide(verdict.detectable_bytes_per_step, width);
  if (verdict.onset_step) *verdict.onset_step = (*verdict.onset_step - 1) * width + 1;
  Evidence& e = verdict.evidence;
  e.floor_bytes_per_step /= width;
  for (auto* steps : {&e.maturity_steps, &e.mature_steps, &e.period_steps, &e.mean_life_steps,
                      &e.next_jump_step, &e.silent_steps}) {
    Multiply(*steps, width);
  }
  Divide(e.objects_per_step, width);
  Divide(e.fill_bytes_per_step, width);
  Divide(e.sites_growth_bytes_per_step, width);
  if (verdict.forecast.if_cache) verdict.forecast.if_cache->ends_at_step *= width;
  if (verdict.forecast.if_leak) {
    Multiply(verdict.forecast.if_leak->oom_step, width);
    Multiply(verdict.forecast.if_leak->earliest_step, width);
    Multiply(verdict.forecast.if_leak->latest_step, width);
  }
  return verdict;
}

}  // namespace plateau::verdict

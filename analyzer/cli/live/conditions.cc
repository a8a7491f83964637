#include "analyzer/cli/live/conditions.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/closest_word.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::cli {
namespace {

bool HasNumber(const report::Verdict& verdict, const std::string& name, double* value) {
  for (const report::EvidenceNumber& number : verdict.numbers) {
    if (number.name != name) continue;
    *value = number.value;
    return true;
  }
  return false;
}

bool IsLimitNear(double steps, const report::ReportModel& model) {
  for (const report::Forecast& forecast : model.verdict.forecasts) {
    if (!forecast.limit_step) continue;
    const double earliest = forecast.limit_step_interval
                                ? std::min(forecast.limit_step_interval->low, *forecast.limit_step)
                                : *forecast.limit_step;
    if (earliest - static_cast<double>(model.steps.count) <= steps) return true;
  }
  double seconds = 0;
  return HasNumber(model.verdict, "seconds_to_limit", &seconds) && seconds <= steps;
}

}  // namespace

absl::StatusOr<Condition> ParseCondition(const std::string& text) {
  Condition condition;
  condition.name = text;
  const std::string name = text.substr(0, text.find('='));
  if (text == "leak") return condition;
  if (text == "undecided-growth") {
    condition.kind = Condition::Kind::kUndecidedGrowth;
    return condition;
  }
  if (text == "growth") {
    condition.kind = Condition::Kind::kGrowth;
    return condition;
  }
  if (name != "oom-soon") {
    return absl::InvalidArgumentError(
        absl::StrCat("--on=", text, ": not leak, growth, undecided-growth or oom-soon",
                     DidYouMean(text, {"leak", "growth", "undecided-growth", "oom-soon"})));
  }
  condition.kind = Condition::Kind::kOomSoon;
  if (name != text &&
      (!absl::SimpleAtod(text.substr(name.size() + 1), &condition.steps) || !(condition.steps >= 1))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--on=", text, ": write oom-soon=STEPS, as in oom-soon=100"));
  }
  return condition;
}

bool IsFulfilled(const Condition& condition, const report::ReportModel& model) {
  const std::optional<verdict::VerdictKind> kind = verdict::ParseVerdict(model.verdict.name);
  if (!kind) return false;
  switch (condition.kind) {
    case Condition::Kind::kLeak:
      return verdict::IsLeak(*kind);
    case Condition::Kind::kGrowth:
      return verdict::GrowsWithoutEnd(*kind);
    case Condition::Kind::kUndecidedGrowth: {
      double rate = 0;
      const bool grows = HasNumber(model.verdict, "rate_bytes_per_step", &rate) && rate > 0;
      return *kind == verdict::VerdictKind::kUnboundedGrowth ||
             (*kind == verdict::VerdictKind::kInconclusive && grows);
    }
    case Condition::Kind::kOomSoon:
      return IsLimitNear(condition.steps, model);
  }
  return false;
}

}  // namespace plateau::cli

#include "analyzer/verdict/method/forecast.h"

#include <algorithm>

#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {

Forecast MakeForecast(double level_bytes, const MeanInterval& rate, double step,
                      const series::RunContext& run) {
  Forecast forecast;
  const double epoch = run.epoch_steps.value_or(0);
  if (epoch > 0) {
    const double left = std::max(0.0, epoch - step);
    forecast.if_cache = Forecast::IfCache{epoch,
                                          level_bytes + rate.mean * left,
                                          {level_bytes + rate.low * left, level_bytes + rate.high * left}};
  }
  const double limit = run.limit_bytes.value_or(0);
  if (limit <= 0) return forecast;
  const auto reaches_limit = [&](double bytes_per_step) -> std::optional<double> {
    if (bytes_per_step <= 0) return std::nullopt;
    return step + (limit - level_bytes) / bytes_per_step;
  };
  forecast.if_leak =
      Forecast::IfLeak{reaches_limit(rate.mean), reaches_limit(rate.high), reaches_limit(rate.low)};
  if (forecast.if_cache) {
    const Interval& plateau = forecast.if_cache->plateau_interval;
    forecast.outcome = plateau.low > limit    ? Outcome::kOomEitherWay
                       : plateau.high < limit ? Outcome::kOomOnlyIfLeak
                                              : Outcome::kOomPossibleEitherWay;
    if (rate.mean > 0) {
      forecast.dataset_factor_that_fits = (limit - level_bytes + rate.mean * step) / (rate.mean * epoch);
    }
  }
  const std::optional<double>& earliest = forecast.if_leak->earliest_step;
  if (run.planned_steps.value_or(0) > 0 && earliest && *earliest > *run.planned_steps) {
    forecast.outcome = Outcome::kSafeInThisRun;
  }
  return forecast;
}

void ForecastHeadline(const series::RunContext& run, const Slope& resident, Verdict& headline) {
  const bool has_end =
      headline.kind == VerdictKind::kUntracedGrowth && headline.evidence.untraced_kind == "file";
  const bool grows = GrowsWithoutEnd(headline.kind) || headline.kind == VerdictKind::kFragmentation ||
                     headline.kind == VerdictKind::kUntracedGrowth ||
                     headline.kind == VerdictKind::kInconclusive;
  if (!grows || has_end || !headline.rate_bytes_per_step || !run.level_now_bytes) return;
  const Estimate& own = *headline.rate_bytes_per_step;
  MeanInterval rate{own.value, own.value, own.value};
  if (own.interval) rate = {own.value, own.interval->low, own.interval->high};
  const bool resident_is_larger = resident.low > 0 && resident.value > kResidentLeads * rate.mean;
  if (resident_is_larger) {
    rate = {resident.value, resident.low, resident.high};
    headline.evidence.resident_growth_bytes_per_step = resident.value;
  }
  if (rate.mean <= 0) return;
  const Forecast forecast = MakeForecast(*run.level_now_bytes, rate, static_cast<double>(run.steps), run);
  if (!forecast.if_leak) return;
  headline.forecast.if_leak = forecast.if_leak;
  if (forecast.outcome == Outcome::kSafeInThisRun || headline.forecast.outcome == Outcome::kSafeInThisRun)
    headline.forecast.outcome = forecast.outcome;
}

double FloorRate(const series::RunContext& run) {
  const double steps = static_cast<double>(run.steps);
  const double planned = run.planned_steps.value_or(0);
  const double horizon = planned > steps ? planned - steps : kRunLengthsAhead * steps;
  return std::max(1e-9, kMaterialShare * run.Reference() / std::max({horizon, steps, 1.0}));
}

}  // namespace plateau::verdict

#include "analyzer/verdict/method/replaced.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "analyzer/verdict/method/forecast.h"
#include "analyzer/verdict/method/judgement.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {
namespace {

// The level without the moment in which the old and the new object are both alive: the minimum over three steps.
std::vector<double> LevelInSteps(const series::SiteSeries& site) {
  const std::vector<double> live = site.LiveBytes();
  std::vector<double> level;
  for (size_t k = 3; k < live.size(); ++k) level.push_back(std::min({live[k - 2], live[k - 1], live[k]}));
  return level;
}

// Rises nearly always, and in each third of the run by a good part of an even share.
bool RisesThroughout(Values level, double rise) {
  size_t falls = 0;
  for (size_t i = 1; i < level.size(); ++i) falls += level[i] < level[i - 1];
  if (static_cast<double>(falls) > kReplacedFalls * static_cast<double>(level.size())) return false;
  for (size_t third = 0; third < 3; ++third) {
    const auto [begin, end] = SplitBounds(level.size(), 3, third);
    if (level[end - 1] - level[begin] < kReplacedThird * rise / 3) return false;
  }
  return true;
}

}  // namespace

std::optional<Verdict> JudgeReplaced(const series::SiteSeries& site, const series::RunContext& run) {
  const std::vector<double> level = LevelInSteps(site);
  const double rounds = static_cast<double>(run.steps * run.bucket_steps);
  if (rounds < kUnboundedRounds || level.size() < kUnboundedRounds / 2) return std::nullopt;
  const double rise = level.back() - level.front();
  // A level that was there before the steps is no object that begins small.
  if (rise < kProcessMaterial * run.Reference() || rise < kReplacedShare * level.back()) return std::nullopt;
  if (!RisesThroughout(level, rise)) return std::nullopt;
  std::vector<double> steps(level.size());
  std::iota(steps.begin(), steps.end(), 1.0);
  const Slope slope = RobustSlope(steps, level);
  if (slope.low <= 0) return std::nullopt;
  Verdict verdict;
  verdict.rate_bytes_per_step = Estimate{slope.value, Interval{slope.low, slope.high}};
  verdict.evidence.retained_bytes = rise;
  verdict.evidence.replaced_bytes = level.back();
  verdict.forecast = MakeForecast(run.level_now_bytes.value_or(level.back()),
                                  {slope.value, slope.low, slope.high}, static_cast<double>(run.steps), run);
  return With(std::move(verdict), VerdictKind::kUnboundedGrowth,
              "an object is replaced by a larger one again and again, to the end");
}

}  // namespace plateau::verdict

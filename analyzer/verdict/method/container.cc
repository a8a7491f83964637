#include "analyzer/verdict/method/container.h"

#include <algorithm>
#include <array>
#include <vector>

#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {
namespace {

// Live level without in-flight churn: the minimum over three steps.
std::vector<double> QuietLevel(const std::vector<double>& live) {
  std::vector<double> level(live.size() - 2);
  for (size_t i = 0; i < level.size(); ++i) level[i] = std::min({live[i], live[i + 1], live[i + 2]});
  return level;
}

// Steps of the last three jumps, empty when there are fewer.
std::optional<std::array<int, kContainerJumps>> LastJumps(const std::vector<double>& level) {
  std::vector<int> jumps;
  for (size_t i = 1; i < level.size(); ++i) {
    const int index = static_cast<int>(i);
    if (level[i] - level[i - 1] <= kContainerJump * std::max(level[i], 1.0)) continue;
    if (jumps.empty() || index - jumps.back() > 2) jumps.push_back(index);
  }
  if (jumps.size() < kContainerJumps) return std::nullopt;
  std::array<int, kContainerJumps> last;
  for (int i = 0; i < kContainerJumps; ++i) last[i] = jumps[jumps.size() - kContainerJumps + i] + 1;
  return last;
}

double MedianBetween(const std::vector<double>& level, int begin, int end) {
  end = std::min(end, static_cast<int>(level.size()));
  return begin < end ? Median(Values(level).subspan(begin, end - begin)) : Median({});
}

bool Within(double ratio, double low, double high) { return ratio > low && ratio < high; }

}  // namespace

std::optional<Verdict> JudgeContainer(const series::SiteSeries& site, int steps, double floor_rate) {
  if (steps < kContainerSteps) return std::nullopt;
  const std::vector<double> level = QuietLevel(site.LiveBytes());
  const auto jumps = LastJumps(level);
  if (!jumps) return std::nullopt;
  const auto& j = *jumps;
  const std::array<double, 2> step_ratio = {static_cast<double>(j[1]) / j[0],
                                            static_cast<double>(j[2]) / j[1]};
  if (!Within(step_ratio[0], kLeastGrowthFactor, kMostStepFactor) ||
      !Within(step_ratio[1], kLeastGrowthFactor, kMostStepFactor))
    return std::nullopt;

  std::array<double, kContainerJumps> levels;
  for (int i = 0; i + 1 < kContainerJumps; ++i) {
    levels[i] =
        j[i + 1] - j[i] > kMedianFromSteps ? MedianBetween(level, j[i] + 1, j[i + 1] - 1) : level[j[i] + 1];
  }
  levels[2] = MedianBetween(level, j[2] + 1, static_cast<int>(level.size()));
  const std::array<double, 2> level_ratio = {levels[1] / std::max(levels[0], 1.0),
                                             levels[2] / std::max(levels[1], 1.0)};
  if (!Within(level_ratio[0], kLeastGrowthFactor, kMostLevelFactor) ||
      !Within(level_ratio[1], kLeastGrowthFactor, kMostLevelFactor))
    return std::nullopt;

  // One live block: survivors must be dominated by births at the last jump.
  const Values survivors(site.surv_bytes);
  const auto sum_of = [&](int begin, int end) {
    begin = std::min<int>(begin, static_cast<int>(survivors.size()));
    end = std::clamp<int>(end, begin, static_cast<int>(survivors.size()));
    return Sum(survivors.subspan(begin, end - begin));
  };
  const int last = j[2];
  if (sum_of(std::max(1, last - 2), last + 3) < 0.5 * sum_of(1, std::max(2, steps - kYoungSteps)))
    return std::nullopt;
  if (levels[2] < floor_rate * steps) return std::nullopt;

  // Re-allocation frees the old block in the same step.
  const Values freed(site.free_bytes);
  const double usual = Median(freed);
  for (int i = 1; i < kContainerJumps; ++i) {
    const int begin = std::max(0, j[i] - 1);
    const int end = std::min<int>(j[i] + 2, static_cast<int>(freed.size()));
    if (Max(freed.subspan(begin, end - begin)) - usual < kOldBlockShare * levels[i - 1]) return std::nullopt;
  }
  const double next_step = last * Median(step_ratio);
  if (steps > kOverdueJump * next_step) return std::nullopt;
  Verdict verdict;
  verdict.kind = VerdictKind::kWarmupInProgress;
  verdict.why = "a container that grows geometrically";
  verdict.evidence.next_jump_step = next_step;
  verdict.evidence.next_jump_bytes = levels[2] * Median(level_ratio);
  return verdict;
}

}  // namespace plateau::verdict

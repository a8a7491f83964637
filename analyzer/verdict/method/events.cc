#include "analyzer/verdict/method/events.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/vocabulary/number_text.h"
#include "analyzer/verdict/vocabulary/shape_text.h"

namespace plateau::verdict {
namespace {

// Steps [first, last] that belong to one event.
struct EventWindow {
  int first = 0;
  int last = 0;
};

struct NamedWindows {
  std::string name;
  std::vector<EventWindow> windows;
};

std::vector<NamedWindows> WindowsOf(const series::RunContext& run, int mature) {
  std::vector<NamedWindows> all;
  for (const series::EventTrack& track : run.events) {
    NamedWindows named{track.name, {}};
    for (int64_t step : track.steps) {
      if (step < 1 || step > mature) continue;
      named.windows.push_back({static_cast<int>(step), std::min(static_cast<int>(step) + 1, mature)});
    }
    if (!named.windows.empty()) all.push_back(std::move(named));
  }
  const double epoch = run.epoch_steps.value_or(0);
  if (epoch >= kMinEpochSteps && epoch < mature) {
    NamedWindows named{"epoch", {}};
    for (int j = 1; j <= static_cast<int>(mature / epoch); ++j) {
      const int boundary = static_cast<int>(std::floor(j * epoch));
      if (boundary > mature) continue;
      named.windows.push_back(
          {std::max(1, boundary), std::min(mature, static_cast<int>(std::ceil(j * epoch)) + 1)});
    }
    all.push_back(std::move(named));
  }
  return all;
}

double SumSteps(Values by_step, int first, int last) {  // steps are counted from 1
  double sum = 0;
  for (int step = first; step <= last && step <= static_cast<int>(by_step.size()); ++step)
    sum += by_step[step - 1];
  return sum;
}

Verdict Answer(Verdict verdict, VerdictKind kind, std::string why) {
  verdict.kind = kind;
  verdict.why = std::move(why);
  return verdict;
}

Verdict OneMoreEvent(Verdict verdict, std::string why) {
  verdict.kind = VerdictKind::kInconclusive;
  verdict.reason = Reason::kTwoEvents;
  verdict.why = std::move(why);
  verdict.needs_events = 1;
  if (verdict.evidence.period_steps) verdict.needs_steps = verdict.evidence.period_steps;
  return verdict;
}

// The first evaluation often leaves something of its own, and stairs may begin behind it. When all events but the
// largest keep alike, what the largest kept more is taken out of `retained` and returned; else 0.
double TakeOutOneOff(std::vector<double>& retained) {
  const auto largest = std::max_element(retained.begin(), retained.end());
  std::vector<double> rest(retained.begin(), largest);
  rest.insert(rest.end(), largest + 1, retained.end());
  if (rest.size() < kStairsBesideOneOff) return 0;
  const double usual = Median(rest);
  if (usual < kStairOfOneOff * *largest || *largest < kOneOffFactor * usual) return 0;
  const size_t half = rest.size() / 2;
  const bool goes_on = Mean(Values(rest).subspan(half)) >= kEvenStairs * Mean(Values(rest).first(half));
  const auto keeping = std::count_if(rest.begin(), rest.end(), [&](double v) { return v > 0.5 * usual; });
  if (!goes_on || static_cast<double>(keeping) < kEvenStairs * static_cast<double>(rest.size())) return 0;
  const double more = *largest - usual;
  *largest = usual;
  return more;
}

std::optional<Verdict> JudgeTrack(const NamedWindows& named, Values mature, Values all,
                                  const series::RunContext& run) {
  const int steps = static_cast<int>(mature.size());
  const double total = Sum(mature);
  std::vector<bool> covered(steps, false);
  for (const EventWindow& w : named.windows)
    std::fill(covered.begin() + (w.first - 1), covered.begin() + w.last, true);
  double at_events = 0;
  int covered_steps = 0;
  for (int i = 0; i < steps; ++i) {
    if (!covered[i]) continue;
    at_events += mature[i];
    ++covered_steps;
  }
  const double share = at_events / total;
  const double cover = static_cast<double>(covered_steps) / steps;
  if (share < kEventShare || cover > kEventCover || share < kEventExcess * cover) return std::nullopt;

  std::vector<double> retained;
  std::vector<double> starts;
  for (const EventWindow& w : named.windows) {
    retained.push_back(SumSteps(mature, w.first, w.last));
    starts.push_back(w.first);
  }
  const double one_off = TakeOutOneOff(retained);
  const double most = Max(retained);
  std::vector<int> keeping;  // events that left memory behind
  std::vector<double> kept;
  for (size_t i = 0; i < retained.size(); ++i) {
    if (retained[i] <= kKeepingShare * most) continue;
    keeping.push_back(static_cast<int>(i));
    kept.push_back(retained[i]);
  }
  if (keeping.empty()) return std::nullopt;
  const int events = static_cast<int>(retained.size());
  const int retaining = static_cast<int>(keeping.size());
  const int clean_since = events - 1 - keeping.back();
  if (named.name == "epoch" && (retaining < kMinStairs || events < kMinStairs)) return std::nullopt;

  Verdict verdict;
  if (one_off > 0) {
    verdict.evidence.component = "One of them left " + BytesText(one_off) + " more, once.";
  }
  verdict.evidence.event = named.name;
  verdict.evidence.event_count = events;
  verdict.evidence.events_retaining = retaining;
  verdict.evidence.per_event_bytes = Mean(kept);
  if (events > 1) {
    std::vector<double> gaps(starts.size());
    std::adjacent_difference(starts.begin(), starts.end(), gaps.begin());
    verdict.evidence.period_steps = Median(Values(gaps).subspan(1));
  }
  if (retaining == 1) {
    bool young_event_holds = false;
    if (const series::EventTrack* track = run.FindEvents(named.name)) {
      for (int64_t step : track->steps) {
        if (step > steps && SumSteps(all, static_cast<int>(step), static_cast<int>(step) + 1) >
                                kYoungEventShare * Median(kept)) {
          young_event_holds = true;
        }
      }
    }
    if (!young_event_holds && (keeping[0] == 0 || clean_since >= 1)) {
      return Answer(verdict, VerdictKind::kSpikeRetained,
                    "one event left memory behind, and later ones did not");
    }
    return OneMoreEvent(verdict, "one event left memory behind, and it takes another to see whether all do");
  }
  if (retaining == 2) {
    if (clean_since >= 2) {
      return Answer(verdict, VerdictKind::kSpikeRetained,
                    "two events left memory behind, and later ones did not");
    }
    return OneMoreEvent(verdict, "two events left memory behind, and it takes another to see whether all do");
  }
  if (clean_since >= std::max(2.0, 0.5 * retaining)) {
    return Answer(verdict, VerdictKind::kSpikeRetained,
                  "the first events left memory behind, and later ones did not");
  }
  const size_t half = kept.size() / 2;
  const double earlier = Mean(Values(kept).first(half));
  const double later = Mean(Values(kept).subspan(half));
  if (static_cast<double>(retaining) / events >= kRetainingShare && later >= kLaterStairs * earlier) {
    const double rate = Sum(retained) / steps;
    const double error =
        2 * StandardDeviation(retained) / std::sqrt(static_cast<double>(events)) / Mean(retained);
    verdict.rate_bytes_per_step =
        Estimate{rate, Interval{rate * std::max(0.0, 1 - error), rate * (1 + error)}};
    return Answer(verdict, VerdictKind::kStaircase,
                  "every " + EventText(named.name) + " leaves memory behind");
  }
  if (later < kLaterStairs * earlier) {
    return Answer(verdict, VerdictKind::kWarmupInProgress,
                  "each event leaves less behind than the one before");
  }
  verdict.reason = Reason::kShapesNotSeparable;
  verdict.needs_events = kMinStairs;
  verdict.needs_steps = kMinStairs * verdict.evidence.period_steps.value_or(0);
  return Answer(verdict, VerdictKind::kInconclusive, "events leave memory behind without a pattern");
}

// Jumps at equal distances that nobody marked.
std::optional<Verdict> JudgeUnmarked(Values mature) {
  const int steps = static_cast<int>(mature.size());
  const double total = Sum(mature);
  std::vector<double> sorted(mature.begin(), mature.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const std::vector<double> sums = CumulativeSum(sorted);
  const int largest =
      static_cast<int>(std::lower_bound(sums.begin(), sums.end(), kEventShare * total) - sums.begin()) + 1;
  if (largest < kMinStairs || largest > kUnmarkedCover * steps) return std::nullopt;
  const double threshold = kYoungEventShare * Median(Values(sorted).first(largest));
  std::vector<int> jumps;  // steps
  double in_jumps = 0;
  for (int i = 0; i < steps; ++i) {
    if (mature[i] < threshold) continue;
    jumps.push_back(i + 1);
    in_jumps += mature[i];
  }
  if (jumps.size() < kMinJumps || in_jumps < kEventShare * total) return std::nullopt;
  std::vector<double> gaps;
  for (size_t i = 1; i < jumps.size(); ++i) gaps.push_back(jumps[i] - jumps[i - 1]);
  const double gap = Mean(gaps);
  if (Min(gaps) < kMinJumpGap || StandardDeviation(gaps) / gap > kJumpSpread ||
      (steps - jumps.back()) / gap >= kOverdueGaps)
    return std::nullopt;
  Verdict verdict;
  verdict.evidence.event = "periodic (unmarked)";
  verdict.evidence.event_count = static_cast<int>(jumps.size());
  verdict.evidence.events_retaining = static_cast<int>(jumps.size());
  verdict.evidence.period_steps = gap;
  verdict.evidence.per_event_bytes = in_jumps / static_cast<double>(jumps.size());
  verdict.rate_bytes_per_step = Estimate{total / steps, std::nullopt};
  return Answer(verdict, VerdictKind::kStaircase,
                "memory rises in jumps at equal distances and does not fall again");
}

}  // namespace

std::optional<Verdict> JudgeEvents(Values mature, Values all, const series::RunContext& run) {
  for (const NamedWindows& named : WindowsOf(run, static_cast<int>(mature.size()))) {
    if (std::optional<Verdict> verdict = JudgeTrack(named, mature, all, run)) return verdict;
  }
  return JudgeUnmarked(mature);
}

}  // namespace plateau::verdict

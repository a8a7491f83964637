#include "analyzer/series/clock/mode_intervals.h"

#include <algorithm>
#include <map>

namespace plateau::series {
namespace {

size_t BackwardsBefore(const LoopEvents& events, uint64_t time) {
  return CountBefore(events.backwards, time, [](const BackwardEvent& backward) { return backward.begin; });
}

// The model collects what it is trained on next.
bool AreRollouts(const LoopEvents& events, const std::vector<EvaluationPass>& intervals) {
  constexpr size_t kFewest = 3;
  if (intervals.size() < kFewest || !events.fetches.empty()) return false;
  if (BackwardsBefore(events, intervals.front().begin) > 0) return false;
  std::map<size_t, size_t> bursts;  // backward passes between two intervals -> how often
  for (size_t i = 0; i + 1 < intervals.size(); ++i) {
    ++bursts[BackwardsBefore(events, intervals[i + 1].begin) - BackwardsBefore(events, intervals[i].begin)];
  }
  const auto usual = std::max_element(bursts.begin(), bursts.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  return usual->first > 0 && usual->second * 2 > intervals.size() - 1;
}

}  // namespace

std::vector<EvaluationPass> EvaluationsByMode(const LoopEvents& events, uint64_t end_time) {
  std::vector<EvaluationPass> intervals;
  for (size_t i = 0; i < events.modes.size(); ++i) {
    if (events.modes[i].is_train) continue;
    const uint64_t begin = events.modes[i].time;
    const bool has_train = i + 1 < events.modes.size();
    uint64_t end = has_train ? events.modes[i + 1].time : end_time;
    const size_t next = BackwardsBefore(events, begin);
    if (next < events.backwards.size() && events.backwards[next].begin < end) continue;  // trained on
    intervals.push_back({begin, end, 0, has_train});
  }
  if (AreRollouts(events, intervals)) intervals.clear();
  return intervals;
}

}  // namespace plateau::series

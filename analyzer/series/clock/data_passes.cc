#include "analyzer/series/clock/data_passes.h"

#include <algorithm>
#include <utility>

#include "analyzer/series/clock/mode_intervals.h"
#include "analyzer/series/clock/passes_by_line.h"
#include "analyzer/series/clock/passes_by_loader.h"

namespace plateau::series {
namespace {

// Evaluations that overlap, or follow each other with nothing trained between them, are one; but the same data
// evaluated a second time is another evaluation.
void MergeNeighbours(const LoopEvents& events, std::vector<EvaluationPass>* all) {
  std::stable_sort(all->begin(), all->end(),
                   [](const EvaluationPass& a, const EvaluationPass& b) { return a.begin < b.begin; });
  std::vector<EvaluationPass> merged;
  std::vector<uint64_t> datasets;  // of the last one
  for (const EvaluationPass& next : *all) {
    const bool is_again =
        next.dataset != 0 && std::find(datasets.begin(), datasets.end(), next.dataset) != datasets.end();
    const bool is_near = !merged.empty() && (next.begin <= merged.back().end ||
                                             !IsTrainedIn(events, merged.back().begin, next.begin));
    if (is_near && !is_again) {
      EvaluationPass& last = merged.back();
      last.end = std::max(last.end, next.end);
      last.batches += next.batches;
      last.is_complete |= next.is_complete;
    } else {
      if (!merged.empty()) merged.back().end = std::min(merged.back().end, next.begin);
      merged.push_back(next);
      datasets.clear();
    }
    if (next.dataset != 0) datasets.push_back(next.dataset);
  }
  *all = std::move(merged);
}

}  // namespace

bool IsTrainedIn(const LoopEvents& events, uint64_t from, uint64_t to) {
  if (!events.backwards.empty()) return AnyBeginsIn(events.backwards, from, to);
  return AnyBeginsIn(events.optimizer_steps, from, to);
}

DataPasses FindDataPasses(const LoopEvents& events, uint64_t end_time) {
  const bool are_iterators_known = std::any_of(events.fetches.begin(), events.fetches.end(),
                                               [](const FetchEvent& fetch) { return fetch.iterator != 0; });
  DataPasses passes =
      are_iterators_known ? FindPassesByLoader(events, end_time) : FindPassesByLine(events, end_time);
  for (const EvaluationPass& interval : EvaluationsByMode(events, end_time)) {
    passes.evaluations.push_back(interval);
  }
  MergeNeighbours(events, &passes.evaluations);
  return passes;
}

}  // namespace plateau::series

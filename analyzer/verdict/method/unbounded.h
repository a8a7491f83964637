// Growth that went on to the end of a run in which no pass over data was seen.
//
// A leak and a cache that is not full yet look the same then, and there is no pass whose end one could wait for.
// The answer is `unbounded_growth`: how fast, how much a cache would have to hold by now, and what its misses
// say about its size. docs/verdicts.md has the conditions.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_UNBOUNDED_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_UNBOUNDED_H_

#include <optional>

#include "analyzer/series/run_context.h"
#include "analyzer/verdict/method/retention_state.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// unbounded_growth when `window` has enough rounds and births and its end keeps as much as its begin, else
// inconclusive with what is missing. `full` is the state of the window, constant. `objects` has every object
// that stays, by birth step; `base` brings the evidence gathered so far.
Verdict JudgeUnbounded(const SurvivorWindow& window, const RetentionState& full, Values objects,
                       const series::RunContext& run, Verdict base);

// What the births of a site tell about a cache that is filled by random draws: each round draws as many entries
// as the commonest count says, and a draw that brings no birth is a hit.
struct HitEstimate {
  double entries = 0;                // of the cache when it is full
  std::optional<Interval> interval;  // empty: no hit was seen, and `entries` is what it has at least (95 %)
};
// `births`: objects that stay, per round. Empty when the births do not get rarer, as those of such a cache must.
std::optional<HitEstimate> EstimateCacheFromHits(Values births);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_UNBOUNDED_H_

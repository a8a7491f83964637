// Retention that comes with events: evaluations, checkpoints, epoch ends, or jumps at equal distances.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_EVENTS_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_EVENTS_H_

#include <optional>

#include "analyzer/series/run_context.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// `mature`: survivors born in steps 1..M, old enough to count. `all`: the same for all steps, which also
// holds births too young to be called retained. Empty when the retention has nothing to do with events.
std::optional<Verdict> JudgeEvents(Values mature, Values all, const series::RunContext& run);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_EVENTS_H_

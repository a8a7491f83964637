// Did growth end with the first pass over the data, and was it one object per example?
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_FIRST_PASS_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_FIRST_PASS_H_

#include <optional>

#include "analyzer/series/run_context.h"
#include "analyzer/verdict/method/retention_state.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// cache_fill when the survivors in `window` (steps 1..M) are spread evenly over the first pass and end with
// it, else warmup_complete. Nothing may be retained after the pass; the caller has checked that.
Verdict FillOrWarmup(const SurvivorWindow& window, const RetentionState& full, const series::RunContext& run);

// cache_fill when the retained bytes follow the count of distinct examples seen, not the steps. Empty
// otherwise or when the run has no such counter.
std::optional<Verdict> FillByUniqueExamples(Values retained, const series::RunContext& run);

// Whether the bytes follow the steps so much better than the distinct examples that no cache of the examples
// explains them. True when the run has no such counter or it no longer rises: it explains nothing then.
bool ExcludesFillByExamples(Values retained, const series::RunContext& run);

// Linear and abrupt: the rate just before the stop is that of the first half.
bool LooksLikeFill(Values retained, int last_step);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_FIRST_PASS_H_

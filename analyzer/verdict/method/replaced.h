// An object that is replaced by a larger one again and again: torch.cat, numpy.append or pandas.concat in a loop.
//
// Nothing of it grows old, because each round frees the object of the round before. So the survivors, by which
// leaks are found, say nothing, and the flow of allocations rises as fast as the level. What tells is the level
// itself: it rises in nearly every step, in every third of the run, to its end. Inputs that get longer look the
// same, so the answer is `unbounded_growth` and never `leak`.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_REPLACED_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_REPLACED_H_

#include <optional>

#include "analyzer/series/run_context.h"
#include "analyzer/series/site_series.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// For a site of which nothing material is old. Empty when its level does not rise like that, or by too little to
// be headlined.
std::optional<Verdict> JudgeReplaced(const series::SiteSeries& site, const series::RunContext& run);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_REPLACED_H_

// What can be said about a run without training steps: only what slices of time show.
#ifndef PLATEAU_ANALYZER_VERDICT_TIME_STORY_H_
#define PLATEAU_ANALYZER_VERDICT_TIME_STORY_H_

#include "analyzer/series/run_context.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// The verdict becomes `inconclusive`, and its sentence tells what slices of time show. Rates and steps are
// taken out, because there is nothing they could be counted in.
Verdict WithoutSteps(const series::RunContext& run, const Verdict& by_time);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_TIME_STORY_H_

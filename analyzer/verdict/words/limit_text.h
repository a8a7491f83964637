// When the memory limit is reached, and estimates with their intervals: the parts that several sentences share.
//
// Pure functions of plain values. A part that has nothing to say is empty; one that has begins with a space.
#ifndef PLATEAU_ANALYZER_VERDICT_WORDS_LIMIT_TEXT_H_
#define PLATEAU_ANALYZER_VERDICT_WORDS_LIMIT_TEXT_H_

#include <string>

#include "analyzer/series/run_context.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// "2.0 MiB/step (1.9 to 2.1)": `text` of the value, with the interval unless that rounds to the value itself.
std::string EstimateText(const Estimate& estimate, std::string (*text)(double));

// Whose limit it is, how large it is, and the verb: "The machine's 23.4 GiB are".
std::string LimitName(const series::RunContext& run, bool begins_sentence);

// " (169-172)": between which steps the limit is reached; empty when both ends are the same step.
std::string StepRange(const Forecast::IfLeak& leak);

// " Resident memory grows by 2.0 MiB/step with it. The cgroup's limit of 4.0 GiB is reached at step 170 (169-172) (about
// 3 min from now).": empty when the growth reaches no limit.
std::string LimitText(const series::RunContext& run, const Verdict& verdict);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_WORDS_LIMIT_TEXT_H_

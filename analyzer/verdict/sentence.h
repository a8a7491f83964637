// Verdicts in words, with their numbers filled in.
//
// The words may be improved at any time; names, reasons and numbers in Verdict are what scripts rely on.
#ifndef PLATEAU_ANALYZER_VERDICT_SENTENCE_H_
#define PLATEAU_ANALYZER_VERDICT_SENTENCE_H_

#include <string>

#include "analyzer/series/run_context.h"
#include "analyzer/verdict/verdict.h"

namespace plateau::verdict {

// Fills verdict->sentence.
void Explain(const series::RunContext& run, Verdict* verdict);

// What to do next, one line; empty when there is nothing to do.
std::string NextStep(const Verdict& verdict);

// "12.3 MiB"; negative values keep their sign. Shared by everything in this folder that writes sentences.
std::string BytesText(double bytes);
std::string RateText(double bytes_per_step);  // "12.3 MiB/step"
std::string NumberText(double value);         // at most one decimal, thousands without separators

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_SENTENCE_H_

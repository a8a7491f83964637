// Verdicts in words, with their numbers filled in.
//
// The words may be improved at any time; names, reasons and numbers in Verdict are what scripts rely on.
#ifndef PLATEAU_ANALYZER_VERDICT_SENTENCE_H_
#define PLATEAU_ANALYZER_VERDICT_SENTENCE_H_

#include <string>
#include <string_view>

#include "analyzer/series/run_context.h"
#include "analyzer/verdict/verdict.h"

namespace plateau::verdict {

// Fills verdict->sentence. Steps are called what they are in this run: steps or batches.
void Explain(const series::RunContext& run, Verdict* verdict);

// For a run without training steps: the verdict becomes `inconclusive`, and its sentence tells what slices of
// time show. Rates and steps are taken out, because there is nothing they could be counted in.
Verdict WithoutSteps(const series::RunContext& run, const Verdict& by_time);

// What to do next, one line; empty when there is nothing to do.
std::string NextStep(const Verdict& verdict);

// "12.3 MiB"; negative values keep their sign. Shared by everything in this folder that writes sentences.
std::string BytesText(double bytes);
std::string RateText(double bytes_per_step);  // "12.3 MiB/step"
std::string NumberText(double value);         // at most one decimal, thousands without separators
std::string CountText(double count, std::string_view noun);  // "1 step", "2 steps", "1.6 objects"

// A fitted shape in plain words: "growth that fades out" for "exponential".
std::string ShapeText(std::string_view model_name);
// True for shapes that go on growing: what a leak is made of, and what a bounded verdict must exclude.
bool IsEndless(std::string_view model_name);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_SENTENCE_H_

// Verdicts in words, with their numbers filled in.
//
// The words may be improved at any time; names, reasons and numbers in Verdict are what scripts rely on.
#ifndef PLATEAU_ANALYZER_VERDICT_WORDS_SENTENCE_H_
#define PLATEAU_ANALYZER_VERDICT_WORDS_SENTENCE_H_

#include <string>
#include <string_view>

#include "analyzer/series/run_context.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// Fills verdict->sentence. Steps are called what they are in this run: steps or batches.
void Explain(const series::RunContext& run, Verdict* verdict);

// "steps" -> "batches", "seconds" in a finished sentence; options such as --epoch-steps keep their name.
std::string InUnits(const std::string& text, std::string_view unit);

// How an object grows that is replaced by a larger one again and again; `bytes` is its size by now.
std::string ReplacedText(double bytes);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_WORDS_SENTENCE_H_

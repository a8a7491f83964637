// What to do about a verdict: the line "next" of the card.
//
// Follows from the kind of the verdict and its evidence; known patterns bring advice of their own (patterns.h).
#ifndef PLATEAU_ANALYZER_VERDICT_WORDS_NEXT_STEP_H_
#define PLATEAU_ANALYZER_VERDICT_WORDS_NEXT_STEP_H_

#include <string>

#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// One line; empty when there is nothing to do.
std::string NextStep(const Verdict& verdict);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_WORDS_NEXT_STEP_H_

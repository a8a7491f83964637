// How each pattern of the catalogue shows in the evidence.
#ifndef PLATEAU_ANALYZER_VERDICT_PATTERN_MATCHERS_H_
#define PLATEAU_ANALYZER_VERDICT_PATTERN_MATCHERS_H_

#include <optional>

#include "analyzer/verdict/evidence_bundle.h"
#include "analyzer/verdict/patterns.h"

namespace plateau::verdict {

// Empty when the evidence does not show `pattern`.
std::optional<PatternMatch> MatchPattern(const Pattern& pattern, const EvidenceBundle& evidence);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_PATTERN_MATCHERS_H_

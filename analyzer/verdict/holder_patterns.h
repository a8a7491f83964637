// Patterns that show in the path by which something is held: who keeps it, not who made it.
#ifndef PLATEAU_ANALYZER_VERDICT_HOLDER_PATTERNS_H_
#define PLATEAU_ANALYZER_VERDICT_HOLDER_PATTERNS_H_

#include <optional>
#include <string_view>

#include "analyzer/verdict/evidence_bundle.h"
#include "analyzer/verdict/patterns.h"

namespace plateau::verdict {

// Whether `id` is one of them, K33 to K41.
bool IsHolderPattern(std::string_view id);

// Empty when nothing that stays is held that way. Silent about what does not stay, however it is held.
std::optional<PatternMatch> MatchHolderPattern(std::string_view id, const EvidenceBundle& evidence);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_HOLDER_PATTERNS_H_

// The catalogue of known growth patterns: what they are, how they show in a trace, and the usual fix.
//
// Data plus one matcher each; a match carries the number that made it. docs/verdicts.md prints the catalogue.
#ifndef PLATEAU_ANALYZER_VERDICT_PATTERNS_H_
#define PLATEAU_ANALYZER_VERDICT_PATTERNS_H_

#include <optional>
#include <string>
#include <vector>

#include "analyzer/verdict/evidence_bundle.h"

namespace plateau::verdict {

struct Pattern {
  const char* id;  // "K11"
  const char* title;
  const char* explanation;  // plain words
  const char* fix;
  bool is_leak;  // false: bounded or by design
};

struct PatternMatch {
  const Pattern* pattern = nullptr;
  std::optional<size_t> site;  // index into the evidence's sites
  double bytes = 0;
  std::string evidence;  // what was seen, with its number
  bool explains_headline = false;
};

const std::vector<Pattern>& PatternCatalogue();

// Matches that explain the process's verdict first, then the largest; at most one per pattern. None for a run
// without training steps.
std::vector<PatternMatch> MatchPatterns(const EvidenceBundle& evidence);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_PATTERNS_H_

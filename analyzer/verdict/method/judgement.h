// How a classifier ends: the evidence gathered so far, with a verdict on top of it.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_JUDGEMENT_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_JUDGEMENT_H_

#include <optional>
#include <string>
#include <utility>

#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

inline Verdict With(Verdict base, VerdictKind kind, std::string why) {
  base.kind = kind;
  base.why = std::move(why);
  return base;
}

inline Verdict Inconclusive(Verdict base, Reason reason, std::string why, std::optional<double> needs_steps) {
  base.kind = VerdictKind::kInconclusive;
  base.reason = reason;
  base.why = std::move(why);
  base.needs_steps = needs_steps;
  return base;
}

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_JUDGEMENT_H_

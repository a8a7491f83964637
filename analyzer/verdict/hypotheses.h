// What people blame when memory grows, tested by name.
//
// Each hypothesis is ruled out or supported with a number, or not testable here with the reason. "Supported"
// means that this cause holds or grows a material amount; it does not mean leak, the verdict says that.
#ifndef PLATEAU_ANALYZER_VERDICT_HYPOTHESES_H_
#define PLATEAU_ANALYZER_VERDICT_HYPOTHESES_H_

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/verdict/evidence_bundle.h"

namespace plateau::verdict {

enum class HypothesisResult { kRuledOut, kSupported, kNotTestable };
std::string_view HypothesisResultName(HypothesisResult result);  // "ruled_out", "supported", "not_testable"

struct Hypothesis {
  std::string name;  // "dataset loading", "gradient accumulation", ...
  HypothesisResult result = HypothesisResult::kNotTestable;
  double bytes = 0;      // the number behind it
  std::string evidence;  // one sentence with that number, or the reason why it cannot be tested
};

// Always the same sixteen, in the same order.
std::vector<Hypothesis> TestHypotheses(const EvidenceBundle& evidence);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_HYPOTHESES_H_

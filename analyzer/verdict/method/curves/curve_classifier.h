// The verdict on one memory curve and nothing else: an RSS log, or an overhead derived from two curves.
//
// A curve cannot say who holds the bytes, and allocators hide both leaks and releases in it: a leak found
// here is unconfirmed until a trace shows its survivors, which the sentence says. Pure and deterministic.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_CURVES_CURVE_CLASSIFIER_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_CURVES_CURVE_CLASSIFIER_H_

#include "analyzer/series/process_series.h"
#include "analyzer/series/run_context.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

Verdict ClassifyCurve(const series::MemoryCurve& curve, const series::RunContext& run);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_CURVES_CURVE_CLASSIFIER_H_

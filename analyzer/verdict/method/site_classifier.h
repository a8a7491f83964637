// The verdict on one call site (or any group of allocations) from its births, deaths and survivors.
//
// Pure and deterministic: no time, no files, no randomness. O(steps) plus a fixed amount of model fitting.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_SITE_CLASSIFIER_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_SITE_CLASSIFIER_H_

#include "analyzer/series/run_context.h"
#include "analyzer/series/site_series.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// `site` and `run` are both in buckets of run.bucket_steps steps (see RunContext::InBuckets); so is the
// verdict. Arrays that are shorter than run.steps are a programming mistake; the cheap way to have both right
// is ClassifySiteInSteps().
Verdict ClassifySite(const series::SiteSeries& site, const series::RunContext& run);

// The same for a run described in steps whose series has buckets of `bucket_steps`; the verdict is in steps.
Verdict ClassifySiteInSteps(const series::SiteSeries& site, const series::RunContext& run_in_steps,
                            int64_t bucket_steps);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_SITE_CLASSIFIER_H_

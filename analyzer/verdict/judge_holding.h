// What the containers that hold a site's objects say about its growth, after its series was judged.
//
//   the container has a bound, and bytes follow its length   -> cache_fill, with its final size
//   it has as many items as the data set, twice              -> cache_fill, complete
//   it was longer at every look, and so was what stays       -> no all-clear: inconclusive, container_grows
//   most of it is garbage, and the collector is on           -> no leak: inconclusive, waits_for_collector
//   anything else                                            -> the verdict stays; it says who holds it
//
// A container makes no leak: one that grows may be a cache that has no end yet. One whose length stands still
// is no evidence of a leak either, and none against it.
#ifndef PLATEAU_ANALYZER_VERDICT_JUDGE_HOLDING_H_
#define PLATEAU_ANALYZER_VERDICT_JUDGE_HOLDING_H_

#include "analyzer/series/holding.h"
#include "analyzer/series/run_context.h"
#include "analyzer/series/site_series.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// `verdict` and `growth` are in steps, `sites_series` has buckets of `bucket_steps` of them. `growth` is what the
// site keeps lately, and is raised when a container shows that it keeps more.
void JudgeHolding(const series::SiteHolding& holding, const series::SiteSeries& site_series,
                  double bucket_steps, const series::RunContext& run, Verdict* verdict, Estimate* growth);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_JUDGE_HOLDING_H_

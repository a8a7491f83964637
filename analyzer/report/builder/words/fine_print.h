// The small type below the headline: what hedges it, and what it does not say.
//
//   The rate is 1.00-1.10 MiB/step, 1 object per step; none of those older than 2 steps was freed. At this pace the limit
//   is reached in about 8 min. If this is a cache with a larger capacity than it holds now, ...
//
// Card, page, JSON and Markdown take it from here. It does not repeat the headline; the verdict's own sentence does, because
// it stands alone beside a site.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_WORDS_FINE_PRINT_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_WORDS_FINE_PRINT_H_

#include <string>

#include "analyzer/series/run_context.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::report {

// Empty where the headline has said all.
std::string FinePrint(const verdict::Verdict& verdict, const series::RunContext& run);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_WORDS_FINE_PRINT_H_

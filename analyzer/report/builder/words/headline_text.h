// The first thing that people read of a report: who, what, how fast and until when, as one sentence.
//
//   train.py:19 in keep keeps 1.03 MiB every step; the cgroup's limit of 8.00 GiB is reached at step 5,100 (4,700-5,600)
//
// Card, page, JSON and Markdown take it from here, so that all of them say the same words. What hedges it is in the
// verdict's sentence. Numbers are those of the verdict, written as everywhere else.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_WORDS_HEADLINE_TEXT_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_WORDS_HEADLINE_TEXT_H_

#include <string>

#include "analyzer/series/run_context.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::report {

// `who` is the site that made the verdict, "train.py:19 in keep"; empty when no site did.
std::string HeadlineText(const verdict::Verdict& verdict, const series::RunContext& run,
                         const std::string& who);

// " the machine's 23.4 GiB", " the cgroup's limit of 8.00 GiB", " the limit of 8.00 GiB": whose limit, and how large.
std::string LimitWords(const series::RunContext& run);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_WORDS_HEADLINE_TEXT_H_

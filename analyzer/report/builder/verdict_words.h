// Verdicts, forecasts, hypotheses and patterns as the report model has them.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_VERDICT_WORDS_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_VERDICT_WORDS_H_

#include <string>
#include <vector>

#include "analyzer/report/report_model.h"
#include "analyzer/series/run_context.h"
#include "analyzer/verdict/analysis.h"

namespace plateau::report {

// `who` is the site that made the verdict, or empty.
Verdict ToReport(const verdict::Verdict& verdict, const series::RunContext& run, const std::string& who);
std::vector<EvidenceNumber> NumbersOf(const verdict::Verdict& verdict);
std::vector<TestedHypothesis> ToReport(const std::vector<verdict::Hypothesis>& hypotheses);
std::vector<MatchedPattern> ToReport(const std::vector<verdict::PatternMatch>& patterns);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_VERDICT_WORDS_H_

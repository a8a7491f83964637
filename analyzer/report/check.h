// A gate for CI: rules, a report, and for each rule whether it holds and why.
//
// Rules are lines, the same on the command line and in a file:
//
//   fail-on leak,slow_leak,staircase      verdicts that fail; the default when no rule is given
//   fail-on growth                        every verdict of growth without an end: those, unbounded_growth,
//                                         fragmentation and untraced_growth
//   max-growth 1MiB/step                  of any site, and of all together
//   max-retained 2GiB                     bytes alive at the end
//   max-peak 4GiB                         highest live bytes
//   max-rss 8GiB                          highest resident set
//   plateau-by 200                        nothing may grow after this step
//   budget data/*.py 512MiB               what matching sites may retain together
//   budget data/*.py 64KiB/step           ... or may grow
//   budget held-by:client._cache* 64MiB   what containers of that name may hold, or by how much a step
//   min-steps 50                          fewer steps decide nothing: fail
//   max-drops 0                           events lost by the recorder
//   baseline 10%                          no site may retain or grow this much more than in the baseline
//
// A growth rule fails when the whole 95 % interval is above the limit, and warns when only the estimate is: a
// gate that cries wolf gets switched off. Suppressed sites are left out of every rule but max-peak and
// max-rss.
#ifndef PLATEAU_ANALYZER_REPORT_CHECK_H_
#define PLATEAU_ANALYZER_REPORT_CHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analyzer/report/report_model.h"
#include "analyzer/report/suppressions.h"

namespace plateau::report {

struct CheckRule {
  enum class Kind {
    kFailOn,
    kMaxGrowth,
    kMaxRetained,
    kMaxPeak,
    kMaxRss,
    kPlateauBy,
    kBudget,
    kBudgetGrowth,
    kMinSteps,
    kMaxDrops,
    kBaseline
  };
  Kind kind = Kind::kFailOn;
  std::string text;                   // as written
  std::vector<std::string> verdicts;  // kFailOn
  std::string glob;                   // kBudget, kBudgetGrowth
  bool is_by_holder = false;          // the glob is of who holds the bytes, not of who made them
  double limit = 0;                   // bytes, bytes per step, a step, a count, or a share
};

// One rule; says what is wrong with it.
absl::StatusOr<CheckRule> ParseCheckRule(absl::string_view line);
// Lines of rules; empty lines and '#' comments are skipped.
absl::StatusOr<std::vector<CheckRule>> ParseCheckRules(absl::string_view text);
std::vector<CheckRule> DefaultCheckRules();

enum class CheckStatus { kPassed, kWarned, kFailed };

struct CheckOutcome {
  std::string rule;
  CheckStatus status = CheckStatus::kPassed;
  std::string message;               // one sentence with the numbers
  std::vector<std::string> details;  // the sites that broke it
};

struct CheckReport {
  std::vector<CheckOutcome> outcomes;
  bool passed() const;
};

struct CheckInputs {
  const ReportModel* model = nullptr;
  const ReportModel* baseline = nullptr;  // needed by a baseline rule
  const Suppressions* suppressions = nullptr;
};

CheckReport RunCheck(const CheckInputs& inputs, const std::vector<CheckRule>& rules);

std::string WriteCheckText(const CheckReport& report);
std::string WriteCheckJson(const ReportModel& model, const CheckReport& report);  // schema "plateau-check/1"
// One test case per rule.
std::string WriteCheckJunit(const ReportModel& model, const CheckReport& report);
// GitHub-flavoured Markdown for a job summary.
std::string WriteCheckMarkdown(const ReportModel& model, const CheckReport& report);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_CHECK_H_

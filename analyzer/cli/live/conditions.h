// What `plateau run --on` waits for: a leak, growth that nobody can judge yet, a limit that is near.
#ifndef PLATEAU_ANALYZER_CLI_LIVE_CONDITIONS_H_
#define PLATEAU_ANALYZER_CLI_LIVE_CONDITIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "analyzer/report/report_model.h"

namespace plateau::cli {

struct Condition {
  enum class Kind { kLeak, kGrowth, kUndecidedGrowth, kOomSoon };
  Kind kind = Kind::kLeak;
  double steps = 100;  // of kOomSoon: how near
  std::string name;    // as it was written
};

// "leak"; "growth", a leak or growth to the end that nobody can call one; "undecided-growth"; "oom-soon", "oom-soon=50".
absl::StatusOr<Condition> ParseCondition(const std::string& text);

// Whether the report of a run that still goes on fulfils it. A limit counts as near by the earliest step at which it may be
// reached, or by time where there are no steps: within as many seconds.
bool IsFulfilled(const Condition& condition, const report::ReportModel& model);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_LIVE_CONDITIONS_H_

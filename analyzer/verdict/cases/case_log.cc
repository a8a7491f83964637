// A memory log into cases, one per run in it.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/verdict/cases/case_file.h"
#include "analyzer/verdict/cases/memory_log.h"

namespace plateau::verdict {

absl::StatusOr<std::vector<VerdictCase>> ParseLogCases(std::string_view text, const std::string& name,
                                                       const Defaults& defaults, const LogOptions& options) {
  absl::StatusOr<std::vector<MemoryLog>> logs = ReadMemoryLogs(text, name, options);
  if (!logs.ok()) return logs.status();
  std::vector<VerdictCase> cases;
  for (MemoryLog& log : *logs) {
    if (log.unit != "step" && (defaults.epoch_steps || !defaults.events.empty())) {
      return absl::InvalidArgumentError(absl::StrCat(
          name,
          ": the log has no steps, so --epoch-steps, --dataset-size and --eval-steps say nothing about it"));
    }
    VerdictCase one;
    one.id = cases.empty() ? name : absl::StrCat(name, "#", cases.size() + 1);
    one.tier = CaseTier::kCurve;
    one.run = defaults;
    one.unit = log.unit;
    one.log = LogNote{log.format, log.column, log.lines_left_out};
    one.curve = std::move(log.curve);
    const double last = one.curve.step.back();
    if (one.run.steps == 0 && std::abs(last) < 1e15) one.run.steps = static_cast<int64_t>(std::ceil(last));
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace plateau::verdict

// `plateau watch --metrics`: the state of a run that is still going on, for whoever scrapes it.
#ifndef PLATEAU_ANALYZER_CLI_METRICS_METRICS_WATCH_H_
#define PLATEAU_ANALYZER_CLI_METRICS_METRICS_WATCH_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/report/report_model.h"

namespace plateau::cli {

struct MetricsRun {
  std::function<absl::StatusOr<report::ReportModel>()> read;
  // Asked before reading: what is written after the process was last seen alive is read in any case.
  std::function<bool()> is_running;
};

// Reads the run again and again until it has ended, and writes its metrics to a file (`-`: standard output) or serves them at
// an address, see ParseListenAddress(). A look that fails leaves the metrics of the one before and is counted; the first one
// must not fail.
absl::Status WatchMetrics(const MetricsRun& run, const std::string& where, double interval_seconds);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_METRICS_METRICS_WATCH_H_

// The state of a run as OpenMetrics text, which Prometheus and everything that reads its format scrapes.
//
//   plateau_live_bytes 104857600
//   plateau_growth_bytes_per_step{site="train.py:42 in collate"} 65536
//   plateau_verdict{kind="slow_leak"} 1
//
// Few series: the ten sites that grow most, one per verdict there is, one per process up to a limit. Names come from outside
// and are escaped. Pure.
#ifndef PLATEAU_ANALYZER_REPORT_METRICS_OPEN_METRICS_H_
#define PLATEAU_ANALYZER_REPORT_METRICS_OPEN_METRICS_H_

#include <cstdint>
#include <string>

#include "analyzer/report/report_model.h"

namespace plateau::report {

struct LookState {
  bool is_running = true;
  double time_seconds = 0;  // of the look, since 1970
  uint64_t failed_looks = 0;
};

inline constexpr char kOpenMetricsType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

std::string WriteOpenMetrics(const ReportModel& model, const LookState& look);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_METRICS_OPEN_METRICS_H_

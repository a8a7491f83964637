// A trace for the Perfetto viewer: counters of the ledger and of the largest sites over time, phases as
// slices.
#ifndef PLATEAU_ANALYZER_REPORT_EXPORT_PERFETTO_EXPORT_H_
#define PLATEAU_ANALYZER_REPORT_EXPORT_PERFETTO_EXPORT_H_

#include <string>

#include "analyzer/report/report_model.h"

namespace plateau::report {

struct PerfettoOptions {
  size_t max_sites = 30;  // sites with a counter of their own
};

// A serialised trace in Perfetto's binary format. Times are nanoseconds from the start of the recording.
std::string WritePerfetto(const ReportModel& model, const PerfettoOptions& options = {});

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_EXPORT_PERFETTO_EXPORT_H_

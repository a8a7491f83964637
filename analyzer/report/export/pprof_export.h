// A heap profile for pprof: gzip-compressed protobuf with every stack of the report.
//
// Values per stack: inuse_objects, inuse_space (the default), growth_space (bytes per step), peak_space,
// temporary_space, alloc_objects, alloc_space. Their sums are the totals of the report. Each sample carries
// its site and pool as labels.
#ifndef PLATEAU_ANALYZER_REPORT_EXPORT_PPROF_EXPORT_H_
#define PLATEAU_ANALYZER_REPORT_EXPORT_PPROF_EXPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

absl::StatusOr<std::string> WritePprof(const ReportModel& model);

// gzip at the default level.
absl::StatusOr<std::string> Gzip(const std::string& bytes);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_EXPORT_PPROF_EXPORT_H_

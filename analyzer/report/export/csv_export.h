// Tables as CSV (RFC 4180: CRLF, quotes doubled), first line the column names.
#ifndef PLATEAU_ANALYZER_REPORT_EXPORT_CSV_EXPORT_H_
#define PLATEAU_ANALYZER_REPORT_EXPORT_CSV_EXPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

// Table: "sites" (with the leftovers, so that columns add up), "ledger", "series" (site, step, live,
// survivors), "processes" or "hypotheses".
absl::StatusOr<std::string> WriteCsv(const ReportModel& model, absl::string_view table);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_EXPORT_CSV_EXPORT_H_

// The whole report as an SQLite database, for questions nobody thought of. docs/exports.md describes the
// tables.
#ifndef PLATEAU_ANALYZER_REPORT_EXPORT_SQLITE_EXPORT_H_
#define PLATEAU_ANALYZER_REPORT_EXPORT_SQLITE_EXPORT_H_

#include <string>

#include "absl/status/status.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

// Writes a new database at `path`, replacing a file of that name only when it is complete.
absl::Status WriteSqlite(const ReportModel& model, const std::string& path);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_EXPORT_SQLITE_EXPORT_H_

// The report as JSON, schema "plateau-report/1": what scripts rely on. docs/report-json.md describes it and
// docs/report.schema.json is the schema itself.
//
// Fields are only ever added within one schema number. Text that is not UTF-8 is replaced, never refused.
#ifndef PLATEAU_ANALYZER_REPORT_JSON_JSON_REPORT_H_
#define PLATEAU_ANALYZER_REPORT_JSON_JSON_REPORT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analyzer/report/model_json.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

struct JsonOptions {
  size_t max_sites = 0;         // 0: all
  bool include_series = true;   // per-step series and ages of the sites
  bool include_stacks = false;  // the stack tree and its frames, for a report that is opened again
  int indent = 2;               // -1: one line
};

std::string WriteJsonReport(const ReportModel& model, const JsonOptions& options = {});

// Reads back what `diff`, `check --baseline` and tests need: everything but the stack tree. Says which field
// is wrong.
absl::StatusOr<ReportModel> ReadJsonReport(absl::string_view text);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_JSON_JSON_REPORT_H_

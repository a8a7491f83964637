// The model as JSON values: the parts that the JSON report and the page have in common.
#ifndef PLATEAU_ANALYZER_REPORT_MODEL_JSON_H_
#define PLATEAU_ANALYZER_REPORT_MODEL_JSON_H_

#include <nlohmann/json.hpp>

#include "analyzer/report/report_model.h"

namespace plateau::report {

inline constexpr char kReportSchema[] = "plateau-report/1";

// Everything but the ledger, the series axis and the sites: what is small whatever the recording.
nlohmann::ordered_json SummaryToJson(const ReportModel& model);

// The ledger, the axis of the series and the tensors by step.
void AddCurvesToJson(const ReportModel& model, nlohmann::ordered_json* out);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_MODEL_JSON_H_

// The data of the HTML page: the report's summary plus columns sized for a browser.
//
// Bounded whatever the recording: at most PageLimits of rows, points and nodes, with what is left out added
// up under a name.
#ifndef PLATEAU_ANALYZER_REPORT_PAGE_PAGE_DATA_H_
#define PLATEAU_ANALYZER_REPORT_PAGE_PAGE_DATA_H_

#include <cstddef>
#include <nlohmann/json.hpp>

#include "analyzer/report/report_model.h"

namespace plateau::report {

struct PageLimits {
  size_t ledger_rows = 2000;
  size_t series_points = 1000;
  size_t series_sites = 40;  // sites with their own curves
  size_t sites = 2000;       // rows of the table
  size_t stack_nodes = 30000;
};

nlohmann::ordered_json BuildPageData(const ReportModel& model, const PageLimits& limits = {});

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_PAGE_PAGE_DATA_H_

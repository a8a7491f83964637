// The report as one HTML file: no network, no other files, opens from disk.
//
// The page (web/, bundled when Plateau is built) is the same for every report; the data stands in it as JSON
// in which no '<' is left, so nothing in a recording can end the element it is in. A content security policy
// allows the page's own script and style by hash and nothing else.
#ifndef PLATEAU_ANALYZER_REPORT_PAGE_HTML_REPORT_H_
#define PLATEAU_ANALYZER_REPORT_PAGE_HTML_REPORT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "analyzer/report/page/page_data.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

std::string WriteHtmlReport(const ReportModel& model, const PageLimits& limits = {});

// The page without data, as bundled into this binary.
absl::string_view PageTemplate();

// `text` with &, <, >, and both quotes as entities.
std::string EscapeHtml(absl::string_view text);

// JSON text safe inside a <script> element: every '<' becomes \u003c. Changes no value.
std::string EscapeJsonForHtml(absl::string_view json);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_PAGE_HTML_REPORT_H_

// Who holds what each site made, as text: a block per site with its paths, and what the looks themselves were.
#ifndef PLATEAU_ANALYZER_REPORT_TEXT_HOLDERS_TEXT_H_
#define PLATEAU_ANALYZER_REPORT_TEXT_HOLDERS_TEXT_H_

#include <cstddef>
#include <string>

#include "analyzer/report/report_model.h"
#include "analyzer/report/text/text_report.h"

namespace plateau::report {

// "" when nobody looked, nor was kept from it. At most `sites` of them; 0: all.
std::string WriteHolders(const ReportModel& model, const TextOptions& text, size_t sites = 10);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_TEXT_HOLDERS_TEXT_H_

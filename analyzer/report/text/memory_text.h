// Sections of the text report about memory that no call site holds.
#ifndef PLATEAU_ANALYZER_REPORT_TEXT_MEMORY_TEXT_H_
#define PLATEAU_ANALYZER_REPORT_TEXT_MEMORY_TEXT_H_

#include <string>

#include "analyzer/report/report_model.h"
#include "analyzer/report/text/text_report.h"

namespace plateau::report {

// "" when no library brought an allocator along.
std::string WriteAllocators(const ReportModel& model, const TextOptions& text);
// Which survivors hold the holes of the heap; "" when that was not looked at.
std::string WriteHoles(const ReportModel& model, const TextOptions& text);
// Who asked last and who held most when the run was killed; "" for a run that ended by itself.
std::string WriteLastMinutes(const ReportModel& model, const TextOptions& text);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_TEXT_MEMORY_TEXT_H_

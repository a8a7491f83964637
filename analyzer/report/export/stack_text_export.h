// Stacks as text for other viewers: folded lines and speedscope's JSON.
//
// Both formats know only values above zero; stacks that correct an estimate downwards are left out of them
// (JSON, SQLite and pprof keep them).
#ifndef PLATEAU_ANALYZER_REPORT_EXPORT_STACK_TEXT_EXPORT_H_
#define PLATEAU_ANALYZER_REPORT_EXPORT_STACK_TEXT_EXPORT_H_

#include <string>

#include "analyzer/report/export/stack_walk.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

// "root;caller;leaf 1234\n" per stack, as flame graph scripts read it. ';' in names becomes ':'.
std::string WriteFolded(const ReportModel& model, StackMetric metric);

// One sampled profile per metric that has any bytes, in the file format of speedscope.
std::string WriteSpeedscope(const ReportModel& model);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_EXPORT_STACK_TEXT_EXPORT_H_

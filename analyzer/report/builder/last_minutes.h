// What a run that was killed did last: who asked for memory, who held most, what was refused. For whoever finds the run
// dead in the morning, and has only `dmesg` to say that it was the kernel.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_LAST_MINUTES_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_LAST_MINUTES_H_

#include <string_view>

#include "analyzer/report/report_model.h"

namespace plateau::report {

// Whether a recording with this ending was killed: "signal 9", "exit 137", or the kernel's own count.
bool WasKilled(std::string_view ending);

// From a finished model; to_seconds is 0 for a run that was not killed. Sites have their curves only where the report
// was built with details, and the lists are empty without them.
LastMinutes LastMinutesOf(const ReportModel& model);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_LAST_MINUTES_H_

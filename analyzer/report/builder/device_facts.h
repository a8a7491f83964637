// Devices and refused requests for their memory, as the report model has them.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_DEVICE_FACTS_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_DEVICE_FACTS_H_

#include <vector>

#include "analyzer/process/analyze_process.h"
#include "analyzer/process/device_summary.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

std::vector<Device> DevicesOf(const process::DeviceSummary& summary);
std::vector<OutOfMemory> RefusalsOf(const process::ProcessAnalysis& process);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_DEVICE_FACTS_H_

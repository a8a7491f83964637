// The sections of the text report about devices: how full and how torn each was, and what was refused.
#ifndef PLATEAU_ANALYZER_REPORT_TEXT_DEVICE_TEXT_H_
#define PLATEAU_ANALYZER_REPORT_TEXT_DEVICE_TEXT_H_

#include <string>

#include "analyzer/report/report_model.h"
#include "analyzer/report/text/text_report.h"

namespace plateau::report {

// Empty for a report without devices.
std::string WriteDevices(const ReportModel& model, const TextOptions& text);

// One refusal in a sentence: "device 0 refused 2.00 GiB at step 41 (torch): ...".
std::string RefusalSentence(const OutOfMemory& refusal);

// What torch's totals say against ours; empty when torch said nothing.
std::string TorchCheckSentence(const Device& device);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_TEXT_DEVICE_TEXT_H_

// What a report says about events that were sampled, summed up or left out on purpose.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_SAMPLING_NOTES_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_SAMPLING_NOTES_H_

#include <string>
#include <vector>

#include "analyzer/process/analyze_process.h"
#include "analyzer/report/report_model.h"
#include "preload/trace/format.h"

namespace plateau::report {

// True when every event was to be recorded, until the size limit made sampling necessary.
bool IsExact(const trace::FileHeader& header);

// Adds the sentences of one process to `notes` and its rates and moments to `recording`.
void AddSamplingNotes(const process::ProcessAnalysis& process, RecordingInfo* recording,
                      std::vector<std::string>* notes);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_SAMPLING_NOTES_H_

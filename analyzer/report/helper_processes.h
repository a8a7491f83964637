// Processes that came and went beside the training: compilers of torch.compile, git, curl, a shell. A list of
// processes shows them as one line, so that a job with a thousand of them still fits on a screen.
//
// A process is a helper when it trained nothing, has no rank, lived for less than a twentieth of the run, kept nothing
// that matters, and was never a tenth as large as the largest process. Few processes are all shown; among more
// than 32, any of less than 16 MiB that kept less than 1 MiB is small enough. Pure.
#ifndef PLATEAU_ANALYZER_REPORT_HELPER_PROCESSES_H_
#define PLATEAU_ANALYZER_REPORT_HELPER_PROCESSES_H_

#include <string>
#include <vector>

#include "analyzer/report/report_model.h"

namespace plateau::report {

struct HelperProcesses {
  std::vector<bool> is_helper;  // by process of the model
  // "612 helpers came and went (cc1plus 301, ld 296, git 15), none above 84.0 MiB." Empty when there are none.
  std::string sentence;
};

HelperProcesses FindHelpers(const ReportModel& model);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_HELPER_PROCESSES_H_

// From a recording to the report model: every process is analysed, the most severe one makes the headline.
//
//   PLATEAU_ASSIGN_OR_RETURN(reader::Recording recording, reader::OpenRecording(paths));
//   PLATEAU_ASSIGN_OR_RETURN(ReportModel model, BuildReport(recording, {}));
//
// Memory: few processes at a time (process_queue.h), plus the model. A process whose trace cannot be read becomes a note; when
// none can, its error is returned. CheckTotals() holds for every model made here.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_BUILD_REPORT_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_BUILD_REPORT_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "analyzer/process/analyze_process.h"
#include "analyzer/reader/recording.h"
#include "analyzer/report/report_model.h"
#include "analyzer/symbols/sysroot.h"

namespace plateau::report {

struct BuildOptions {
  process::ProcessOptions process;
  bool with_stacks = true;    // the stack tree; costs symbolizing every frame of it
  size_t max_stacks = 2000;   // leaves of the tree; the rest is summed up as "[other stacks]"
  size_t named_sites = 1000;  // sites that get their stacks and curves
  symbols::Sysroot sysroot;   // where the files of the traced system are
  bool with_details = true;   // stacks and curves of sites; the tables do without
};

absl::StatusOr<ReportModel> BuildReport(const reader::Recording& recording, const BuildOptions& options);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_BUILD_REPORT_H_

// A recording taken apart into the ranks of a job, each analysed with the processes under it.
//
//   torchrun ── rank 0 ── dataloader worker       rank 0 with its worker, rank 1; torchrun itself is an
//            └─ rank 1                            other process, and so is a compiler that it starts
//
// A rank is a process with a number of its own; what it forks or spawns inherits the number and belongs to it. Without any
// number the whole recording is rank 0. Ranks are analysed side by side, each in one thread.
//
// Never fails: what cannot be read is a report with its reason.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_RANK_REPORTS_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_RANK_REPORTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/reader/recording.h"
#include "analyzer/reader/trace_identity.h"
#include "analyzer/report/builder/build_report.h"
#include "analyzer/report/rank_report.h"

namespace plateau::report {

// For each trace the trace of its rank (itself, when it is one), or nothing.
std::vector<std::optional<size_t>> RanksOf(const reader::Recording& recording,
                                           const std::vector<reader::TraceIdentity>& identities);

// `threads` ranks at a time; 0: as many as the machine has processors.
RecordingReport BuildRankReports(const std::string& path, const BuildOptions& options, size_t threads);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_RANK_REPORTS_H_

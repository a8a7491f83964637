// What a forked worker (of a DataLoader) tells about its parent: pages that it no longer shares.
//
// The worker's trace is read and, when its ledger speaks of private pages at all, its heap is replayed for
// the live bytes to set against them. Sites, symbols and verdicts of the worker come from AnalyzeProcess().
// Memory: that of a replay; only the result is kept.
#ifndef PLATEAU_ANALYZER_PROCESS_FORKED_WORKER_H_
#define PLATEAU_ANALYZER_PROCESS_FORKED_WORKER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/series/process_series.h"

namespace plateau::process {

// A worker that a process forked: its memory, and which pages it has copied since.
struct ForkedWorker {
  series::WorkerSeries memory;
  uint64_t fork_tsc = 0;  // its first moment, on the clock all processes share
  std::vector<replay::PageRun> copied_pages;
};

// Nothing when the trace is not that of a forked worker. `threads` 0: what the machine has.
absl::StatusOr<std::optional<ForkedWorker>> ReadWorker(const std::string& path, int threads = 0);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_FORKED_WORKER_H_

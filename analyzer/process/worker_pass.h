// What a forked worker (of a DataLoader) tells about its parent: pages that it no longer shares.
//
// Reads the worker's trace and, when its ledger speaks of private pages at all, replays its heap for the live
// bytes to set against them: no sites, no symbols, no verdict. Its own analysis is another pass. Memory: as
// the replay's; nothing is kept but the result.
#ifndef PLATEAU_ANALYZER_PROCESS_WORKER_PASS_H_
#define PLATEAU_ANALYZER_PROCESS_WORKER_PASS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/replay/definitions.h"
#include "analyzer/series/process_series.h"

namespace plateau::report {

// A worker that a process forked: its memory, and which pages it has copied since.
struct ForkedWorker {
  series::WorkerSeries memory;
  uint64_t fork_tsc = 0;  // its first moment, on the clock all processes share
  std::vector<replay::PageRun> copied_pages;
};

// None when the trace is not that of a forked worker. `threads` 0: what the machine has.
absl::StatusOr<std::optional<ForkedWorker>> ReadWorker(const std::string& path, int threads = 0);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_PROCESS_WORKER_PASS_H_

// Analyses the processes of a recording side by side and hands them over in the order of the recording.
//
//   ProcessQueue queue(recording, tree, sysroot, threads, analyze);
//   for (size_t i = 0; i < recording.traces.size(); ++i) {
//     auto process = queue.Take(i);      // waits until it is there
//     ...
//     process = {};                      // its names are looked up in what the next analysis uses, too
//     queue.Done(i);
//   }
//
// An analysis is large, so few are there at a time: one for each lane, and lanes only as far as the traces are small
// (PlanLanes). A process is analysed after those above it were taken and done with. The order makes the result the same
// for any number of lanes. `analyze` is called by several threads at once, each with a symbolizer of its own; with one
// lane by the caller's.
#ifndef PLATEAU_ANALYZER_PROCESS_QUEUE_PROCESS_QUEUE_H_
#define PLATEAU_ANALYZER_PROCESS_QUEUE_PROCESS_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/process/analyze_process.h"
#include "analyzer/reader/process_tree.h"
#include "analyzer/symbols/symbolizer.h"

namespace plateau::process {

struct Lanes {
  size_t count = 1;
  int threads = 0;  // inside each analysis; 0: as many as the machine has
};

// How many processes to analyse side by side on so many processors: one where a single trace is most of the work, which
// then uses all processors by itself, and never so many that the largest traces together are more than 2 GiB.
Lanes PlanLanes(std::vector<uint64_t> trace_bytes, size_t processors);

using Analyzed = absl::StatusOr<std::unique_ptr<ProcessAnalysis>>;
using AnalyzeFunction = std::function<Analyzed(size_t trace, int threads, symbols::Symbolizer* symbolizer)>;

class ProcessQueue {
 public:
  // The tree must outlive it.
  ProcessQueue(size_t traces, const reader::ProcessTree& tree, const symbols::Sysroot& sysroot, Lanes lanes,
               AnalyzeFunction analyze);
  ~ProcessQueue();

  Analyzed Take(size_t trace);
  void Done(size_t trace);

  // One sentence per module that could not be used; when all are done.
  std::vector<std::string> Problems() const;

 private:
  void Work(size_t lane);
  bool AreDone(size_t trace) const;  // those above it

  const size_t traces_;
  const reader::ProcessTree& tree_;
  const Lanes lanes_;
  const AnalyzeFunction analyze_;
  std::vector<std::unique_ptr<symbols::Symbolizer>> symbolizers_;  // one for each lane
  std::mutex mutex_;                                               // of all that follows
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Analyzed>> ready_;  // by trace
  size_t next_ = 0;                               // to be analysed
  size_t done_ = 0;                               // those before it were taken and done with
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_QUEUE_PROCESS_QUEUE_H_

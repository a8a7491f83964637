// Memory of a process (or of one pool) sampled over its steps, as the ledger saw it from outside the call
// sites.
//
// A plain value; all arrays of one ProcessSeries have the same length.
#ifndef PLATEAU_ANALYZER_SERIES_PROCESS_SERIES_H_
#define PLATEAU_ANALYZER_SERIES_PROCESS_SERIES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace plateau::series {

// A forked helper (a DataLoader worker): its private pages grow when it writes to pages shared with its
// parent.
struct WorkerSeries {
  int pid = 0;
  std::vector<double> private_bytes;  // Private_Dirty + Private_Clean
  std::vector<double> live_bytes;     // what its own allocations hold
  double shared_at_fork_bytes = 0;
  // Its first and its last moment, on a clock that all workers share. Equal: not known.
  uint64_t begin_time = 0;
  uint64_t end_time = 0;
};

struct ProcessSeries {
  std::vector<double> step;
  std::vector<double> rss;  // resident bytes; for a device pool: bytes taken from the device
  std::vector<double>
      held;  // what the allocator took from the system (mallinfo2 arena + hblkhd, pool segments)
  std::vector<double> live;       // requested bytes alive at the end of the step
  std::vector<double> live_peak;  // highest live bytes within the step
  // Resident and anonymous, and explained by no allocation, allocator or buffer of ours. Empty: not known.
  std::vector<double> unexplained;
  bool knows_untouched =
      false;  // `held` is without what is known not to be in memory, so rss - held has a sign
  std::vector<WorkerSeries> workers;
  // Of what the workers copied: the share that importing modules had allocated. An interpreter rewrites that by
  // itself, whatever the data set is.
  double share_copied_of_imports = 0;
};

// One logged memory curve and nothing else, as people have from RSS logs.
struct MemoryCurve {
  std::vector<double> step;
  std::vector<double> bytes;
  std::vector<int>
      run;  // index of the process run per sample; empty: a falling step counter starts a new run
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_PROCESS_SERIES_H_

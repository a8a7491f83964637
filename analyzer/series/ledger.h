// Where the resident bytes of a process are: every sample adds up, and what is left over has a name.
//
//   RSS = live + allocator gap + file + shared + own + unexplained
//
// live          requested bytes the trace knows to be alive in host memory; of large blocks and maps what is in
//               memory of them
// allocator gap what malloc and Python's arenas took from the system beyond that (fragmentation, caches,
//               rounding)
// file          mapped files, reclaimable by the kernel
// shared        shared memory: tensors sent between processes, pinned buffers of some drivers
// own           Plateau's own buffers inside the process
// unexplained   the rest, printed with its sign: stacks, driver memory, maps nobody traced; below zero when
// the allocator
//               or a live block has pages that were never touched
#ifndef PLATEAU_ANALYZER_SERIES_LEDGER_H_
#define PLATEAU_ANALYZER_SERIES_LEDGER_H_

#include <vector>

#include "analyzer/series/process_series.h"

namespace plateau::series {

// One reading, at the end of a step or of a second. Fields that could not be read are 0.
struct LedgerSample {
  double time_seconds = 0;
  double step = 0;
  double rss_anon = 0;
  double rss_file = 0;
  double rss_shmem = 0;
  double allocator_held = 0;  // mallinfo2: arena + hblkhd; 0 when it was not asked
  double untouched = 0;       // of that: large blocks, the part that is not in memory
  double mapped_live = 0;  // live beside the heap: small Python objects, anonymous maps of the program's own
  double pool_slack = 0;   // what pools inside the process (Python's arenas) hold beyond their live objects
  double live = 0;  // live requested bytes of the heap, of large blocks those in memory; without mapped_live
  double live_peak = 0;  // highest live + mapped_live since the sample before
  double pinned = 0;
  double device_live = 0;
  double device_reserved = 0;
  double own = 0;
  double cgroup = 0;
  double threads = 0;       // a count, not bytes, as are the next two
  double open_files = 0;    // 0: not counted with this sample
  double mappings = 0;      // 0: not counted with this sample
  bool is_of_exit = false;  // read when the program had begun to exit: shown, and not judged

  double rss() const { return rss_anon + rss_file + rss_shmem; }
};

struct LedgerParts {
  double step = 0;
  double rss = 0;
  double live = 0;
  double allocator_gap = 0;
  double file = 0;
  double shared = 0;
  double own = 0;
  double unexplained = 0;  // rss minus all of the above

  double sum() const { return live + allocator_gap + file + shared + own + unexplained; }
};

LedgerParts Decompose(const LedgerSample& sample);
std::vector<LedgerParts> Decompose(const std::vector<LedgerSample>& samples);

// The ledger as the process classifier wants it: the last sample of each step, Plateau's own bytes taken out.
ProcessSeries ToProcessSeries(const std::vector<LedgerSample>& samples);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_LEDGER_H_

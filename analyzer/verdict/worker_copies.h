// How much forked workers copied of their parent's pages, of those that lived at the same time: the memory of a
// worker that ended is free for the next one.
#ifndef PLATEAU_ANALYZER_VERDICT_WORKER_COPIES_H_
#define PLATEAU_ANALYZER_VERDICT_WORKER_COPIES_H_

#include <cstddef>
#include <span>

#include "analyzer/series/process_series.h"

namespace plateau::verdict {

struct WorkerCopies {
  double private_growth_bytes = 0;
  double heap_growth_bytes = 0;
  double bound_bytes = 0;  // what they shared with their parent when they were forked
  size_t workers = 0;
};

// Of the moment when the workers that lived copied most. Workers without times lived all the time.
WorkerCopies MostAtOnce(std::span<const series::WorkerSeries> workers);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_WORKER_COPIES_H_

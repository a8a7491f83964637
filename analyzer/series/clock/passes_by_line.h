// Passes over the data where the iterators are not known: from the order of fetches and backward passes, and
// from the lines that fetch.
//
// A fetched batch is used when a backward pass (or, where none is seen, an optimizer step) follows before the
// next fetch. A loader that runs out after a used batch ended an epoch; one that runs out after unused
// batches ended an evaluation. Where marks carry the line of their caller, the line decides: a loop that ever
// trains is the training loop.
//
//   fetch backward fetch backward fetch(stop) | fetch fetch fetch(stop) | fetch backward ...
//                                 epoch ends    evaluation of 2 batches
//
// A loop that fetches one batch ahead is not understood here. Pure; n log n in the events.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_PASSES_BY_LINE_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_PASSES_BY_LINE_H_

#include <cstdint>

#include "analyzer/series/clock/data_passes.h"
#include "analyzer/series/clock/loop_events.h"

namespace plateau::series {

DataPasses FindPassesByLine(const LoopEvents& events, uint64_t end_time);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_PASSES_BY_LINE_H_

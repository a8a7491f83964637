// Passes over the data where each fetch says which iterator it was asked of.
//
// The fetches of one iterator, up to its end, are a pass. A pass trains when a backward pass (where none is
// seen: an optimizer step) follows one of its fetches before anything else is fetched, and gradients were not
// switched off; otherwise it evaluates. Loops that fetch ahead (accelerate, Lightning, prefetchers) train the
// last batches after the loader ran out, or never ask again after as many batches as the loader said it has:
//
//   fetch fetch backward fetch backward fetch(stop) backward | fetch fetch backward ...
//   `- 1  `- 2  of 1     `- 3  of 2                  of 3    epoch ends
//
// So an epoch ends before the first fetch of the next training pass, and is complete when the pass ran out (or
// brought as many batches as the loader has) and its last batches were trained. A loader that ran out once and
// is asked no more while the same optimizer goes on is replayed from memory (itertools.cycle): each so many
// batches are one more pass.
//
// With several loaders in step or in turns, the epoch is the pass of the one that ran out least often, and at least once.
// Loaders that are used one after the other are phases of the training, and the passes of each are epochs.
//
// Pure; n log n in the events.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_PASSES_BY_LOADER_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_PASSES_BY_LOADER_H_

#include <cstdint>

#include "analyzer/series/clock/data_passes.h"
#include "analyzer/series/clock/loop_events.h"

namespace plateau::series {

DataPasses FindPassesByLoader(const LoopEvents& events, uint64_t end_time);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_PASSES_BY_LOADER_H_

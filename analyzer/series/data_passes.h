// Which fetches trained, which evaluated, and where the passes over the data end.
//
// A fetched batch is used when a backward pass (or, where none is seen, an optimizer step) follows before the
// next fetch. A loader that runs out after a used batch ended an epoch; one that runs out after unused
// batches ended an evaluation. Where marks carry the line of their caller, the line decides: a loop that ever
// trains is the training loop.
//
//   fetch backward fetch backward fetch(stop) | fetch fetch fetch(stop) | fetch backward ...
//                                 epoch ends    evaluation of 2 batches
//
// Pure; n log n in the events.
#ifndef PLATEAU_ANALYZER_SERIES_DATA_PASSES_H_
#define PLATEAU_ANALYZER_SERIES_DATA_PASSES_H_

#include <cstdint>
#include <vector>

#include "analyzer/series/loop_events.h"

namespace plateau::series {

struct EpochEnd {
  uint64_t time;  // begin of the fetch that found nothing more
  uint32_t batches;
};

struct EvaluationPass {
  uint64_t begin;
  uint64_t end;
  uint32_t batches;
  bool is_complete;  // the loader ran out, or the mode went back to train
};

struct DataPasses {
  std::vector<uint64_t> used_fetch_begins;  // of batches that trained
  std::vector<uint64_t> used_fetch_ends;
  std::vector<EpochEnd> epoch_ends;
  std::vector<EvaluationPass> evaluations;
  uint32_t batches_after_last_epoch = 0;
  uint32_t skipped_batches = 0;  // fetched by the training loop and not used
  bool are_stops_known = true;   // false: the ends of passes were inferred from the order of fetches
};

DataPasses FindDataPasses(const LoopEvents& events, uint64_t end_time);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_DATA_PASSES_H_

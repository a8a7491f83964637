// Which fetches trained, which evaluated, and where the passes over the data end.
//
// Where the recorder says which iterator a fetch was asked of, the passes are those of the iterators
// (passes_by_loader.h). In older recordings, and where Python is not known, they are told apart by the lines
// that fetch and by the order of fetches and backward passes (passes_by_line.h). Evaluations that fetch nothing
// are seen by model.eval() and model.train().
//
// Pure; n log n in the events.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_DATA_PASSES_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_DATA_PASSES_H_

#include <cstdint>
#include <vector>

#include "analyzer/series/clock/loop_events.h"

namespace plateau::series {

struct EpochEnd {
  uint64_t time;  // no step of the epoch ends later, and none of the next begins earlier
  uint32_t batches;
  uint32_t skipped =
      0;  // batches of the pass that were left out at its begin: the run goes on from a checkpoint
  bool is_replay = false;  // nothing was fetched: the batches of the pass before came again
};

struct EvaluationPass {
  uint64_t begin;
  uint64_t end;
  uint32_t batches;
  bool is_complete;      // the loader ran out, or the mode went back to train
  uint64_t dataset = 0;  // which data was evaluated; 0 = not known
};

struct DataPasses {
  std::vector<uint64_t> used_fetch_begins;  // of batches that trained
  std::vector<uint64_t> used_fetch_ends;
  // Of these, the ends of those from the loader that makes the epochs; empty: all are.
  std::vector<uint64_t> epoch_fetch_ends;
  std::vector<EpochEnd> epoch_ends;
  std::vector<EvaluationPass> evaluations;
  uint32_t batches_after_last_epoch = 0;
  uint32_t skipped_batches = 0;  // fetched by the training loop and not used
  uint32_t batches_ahead =
      0;  // fetched at the end of the run and not trained yet, by a loop that fetches ahead
  uint32_t batches_before_run = 0;  // of the first pass, trained by the run that this one goes on from
  // The loader that feeds the training, as it described itself; all 0 when it did not.
  LoaderEvent loader{};
  bool is_loader_known = false;
  bool are_stops_known = true;  // false: the ends of passes were inferred from the order of fetches
};

// True if a backward pass (where none is seen: an optimizer step) begins in [from, to).
bool IsTrainedIn(const LoopEvents& events, uint64_t from, uint64_t to);

DataPasses FindDataPasses(const LoopEvents& events, uint64_t end_time);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_DATA_PASSES_H_

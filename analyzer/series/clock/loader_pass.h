// The passes of loaders: the fetches that were asked of one iterator, up to its end, and which of them train.
//
// A pass trains when a batch is trained after one of its fetches before anything else is fetched, with gradients on. So does
// a loader that is fetched in step with such a one (zip), and the pass in which the run ended before its first batch was
// trained, if it looks like the passes that train.
//
// Pure; n log n in the events.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_LOADER_PASS_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_LOADER_PASS_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "analyzer/series/clock/loop_events.h"

namespace plateau::series {

// The moments at which batches are trained: begins of backward passes, where none is seen of optimizer steps.
class Trainings {
 public:
  Trainings(const LoopEvents& events, uint64_t end_time);

  const std::vector<uint64_t>& begins() const { return begins_; }  // ascending
  size_t size() const { return begins_.size(); }
  // How many begin before `time`.
  size_t Before(uint64_t time) const;
  // How many begin in [from, to).
  size_t In(uint64_t from, uint64_t to) const;
  // The end of the first optimizer step after the training number `index`, or the training itself.
  uint64_t EndOf(size_t index) const;

 private:
  const LoopEvents& events_;
  const uint64_t end_time_;
  std::vector<uint64_t> begins_;
};

struct LoaderPass {
  std::vector<size_t> fetches;  // that brought a batch
  uint64_t begin = 0;           // of its first fetch
  uint64_t last_end = 0;        // of its last fetch
  uint64_t site = 0;            // line of its last fetch
  bool is_stopped = false;      // the loader ran out
  uint64_t stop_begin = 0;
  bool are_gradients_off = false;
  bool trains = false;
  LoaderEvent loader{};

  // All batches of the loader were fetched.
  bool IsOver() const { return is_stopped || (loader.batches > 0 && fetches.size() == loader.batches); }
  uint64_t end() const { return is_stopped ? stop_begin : last_end; }

  // What passes over one loader have in common, also where program and data set are made anew for each: the
  // line, and the size of the data and of a batch.
  using Key = std::tuple<uint64_t, uint64_t, uint64_t>;
  Key key() const { return {site, loader.examples, loader.batch_size}; }
};

// In the order of their first fetches, without those that brought no batch.
std::vector<LoaderPass> CollectLoaderPasses(const LoopEvents& events, const Trainings& trainings,
                                            uint64_t end_time);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_LOADER_PASS_H_

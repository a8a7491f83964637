// The clock of a training run: which step, epoch and evaluation a moment belongs to.
//
//   MarkLog log;                         // pass 1 over the trace: every MarkRecord
//   log.Add(time, stream, mark);  ...
//   log.Finish();
//   StepClock clock = StepClock::Build(log, {.begin_time = first, .end_time = last});
//   clock.BucketOf(event_time);          // pass 2: every event
//
// Buckets: 0 is everything before the first step began, 1..last_bucket() are the steps in order,
// last_bucket() + 1 is what came after the last step ended (final evaluation, teardown). Retention is judged
// over 1..last_bucket().
//
//      start-up | step 1 | step 2 | ... | step T | tail
//               ^ its first fetch, zero_grad or backward      ^ end of the last optimizer step of step T
//
// A step is one iteration of the training loop that ends in an optimizer step: several backward passes
// (gradient accumulation), several optimizers, or a step that a gradient scaler skipped, are one.
// docs/steps.md has the rules. Steps are never invented: without optimizer steps, backward passes or explicit
// marks, step_count() is 0 and the buckets are batches, equal parts of the allocated bytes or equal slices of
// time, which unit() says.
//
// Pure: no files, no clock, no randomness. Build() is linear in the marks; BucketOf() is a binary search.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_STEP_CLOCK_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_STEP_CLOCK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/series/clock/loop_events.h"
#include "analyzer/series/clock/mark_log.h"

namespace plateau::series {

// Where the steps come from, best first.
enum class StepSource : uint8_t {
  kExplicit,   // plateau_mark_step()
  kOptimizer,  // ends of optimizer steps
  kBackward,   // no optimizer was seen: backward passes, grouped by fetch or zero_grad
  kRounds,     // no marks of training: rounds of a loop, each counted
  kFetch,      // nothing is trained: the buckets are batches of a DataLoader, there are no steps
  kBytes,      // no marks at all: equal parts of what the program allocated
  kTime,       // nor enough allocations
};
// "explicit", "optimizer", "backward", "rounds", "batches", "bytes", "time"
std::string_view StepSourceName(StepSource source);

enum class Confidence : uint8_t { kLow, kMedium, kHigh };
std::string_view ConfidenceName(Confidence confidence);  // "low", "medium", "high"

struct Step {
  uint64_t begin_time;
  uint64_t end_time;
  uint32_t fetches;    // batches taken from a DataLoader during the step and used by it
  uint32_t backwards;  // more than one: gradient accumulation or several losses
  uint32_t optimizer_steps;
  bool is_skipped;  // gradients were thrown away without an optimizer step (mixed precision overflow)
};

// A pass over the training data. Epochs are known from explicit marks or from a DataLoader that ran out.
struct Epoch {
  uint32_t first_step;  // 1-based, as buckets
  uint32_t last_step;
  uint32_t batches;
  uint64_t begin_time;
  uint64_t end_time;
  bool is_complete;              // false: the run ended inside it
  uint32_t skipped_batches = 0;  // left out at its begin, since an earlier run had trained them
};

// Something that happens beside the steps: an evaluation, a checkpoint, a phase of the user's.
struct Interlude {
  uint64_t begin_time;
  uint64_t end_time;
  uint32_t after_step;  // how many steps had ended; the memory it keeps is born in bucket after_step + 1
  uint32_t batches;
  std::string name;  // of an explicit phase, else empty
};

// What stands in for steps where the program marked none (work_clock.h).
struct WorkClock {
  StepSource source = StepSource::kTime;
  uint64_t begin = 0;                // of the program's work: after the imports
  uint64_t end = 0;                  // before its teardown
  std::vector<uint64_t> ends;        // of the parts, ascending; empty when it is time
  double allocated_bytes = 0;        // from begin to end
  std::string loop;                  // of rounds: its line
  bool is_seen = false;              // the rounds were seen in stacks, not counted
  bool saw_loop = false;             // one went round, whether it is the clock or not
  std::string thinned_loop;          // one that went round, but not all of its rounds were seen
  std::string epoch_loop;            // around it
  std::vector<uint32_t> epoch_ends;  // rounds that were over when each round of that loop ended
};

struct StepClockOptions {
  uint64_t begin_time = 0;  // of the trace
  uint64_t end_time = 0;
  uint32_t max_time_buckets = 240;     // when there is nothing but time
  double seconds_per_time_unit = 0.0;  // for the sentence in time mode; 0 leaves durations out
  bool is_of_parent = false;           // the marks are those of the process that forked this one
};

class StepClock {
 public:
  static StepClock Build(const MarkLog& log, const StepClockOptions& options);
  static StepClock OfWork(const WorkClock& work, const StepClockOptions& options);

  uint32_t BucketOf(uint64_t time) const;
  uint32_t bucket_count() const { return last_bucket() + 2; }
  uint32_t last_bucket() const { return static_cast<uint32_t>(ends_.size()); }
  uint64_t BucketEnd(
      uint32_t bucket) const;  // of 0: the begin of bucket 1; of the tail: the end of the trace
  uint64_t BucketBegin(uint32_t bucket) const;

  StepSource source() const { return source_; }
  std::string_view unit() const;                               // "step", "round", "batch", "part" or "slice"
  const std::string& loop() const { return loop_; }            // whose rounds the steps are: "train.py:21"
  bool saw_loop() const { return saw_loop_; }                  // of a program without steps
  bool are_rounds_seen() const { return are_rounds_seen_; }    // in stacks, not counted
  double allocated_bytes() const { return allocated_bytes_; }  // in all buckets from 1 on; 0 = not counted
  Confidence confidence() const { return confidence_; }
  // One or more sentences: what was found, from what, and what could not be told.
  const std::string& sentence() const { return sentence_; }

  uint32_t step_count() const { return static_cast<uint32_t>(steps_.size()); }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Epoch>& epochs() const { return epochs_; }
  const std::vector<Interlude>& evaluations() const { return evaluations_; }
  const std::vector<Interlude>& checkpoints() const { return checkpoints_; }
  const std::vector<Interlude>& phases() const { return phases_; }  // explicit ones with other names

  uint32_t complete_epochs() const;
  // Length of an epoch in steps: measured, or from the loader's length before the first epoch ended. 0 =
  // unknown.
  double steps_per_epoch() const { return steps_per_epoch_; }
  // Steps of the first pass that an earlier run took; this one goes on from its checkpoint.
  double steps_before_run() const { return steps_before_run_; }
  bool steps_per_epoch_is_measured() const { return steps_per_epoch_is_measured_; }
  bool epochs_are_marked() const { return epochs_are_marked_; }    // by the program, with explicit marks
  double batches_per_step() const { return batches_per_step_; }    // 0 = no DataLoader
  double examples_per_step() const { return examples_per_step_; }  // 0 = unknown
  uint64_t dataset_examples() const { return dataset_examples_; }  // 0 = unknown
  DataOrder data_order() const { return data_order_; }
  // How many different examples were seen by the end of steps 0..steps, as far as the order of the data lets one
  // expect. Empty where the first pass brings one new example after the other: the passes say it all then.
  std::vector<double> ExpectedExamples() const;
  // The same of one of the workers of the loader: a pass brings it its share of the data, and where each pass has
  // another order, another share each time. Empty without workers that share the data.
  std::vector<double> ExpectedExamplesOfWorker() const;
  uint64_t loader_workers() const { return loader_workers_; }
  uint32_t skipped_steps() const;
  uint32_t skipped_batches() const { return skipped_batches_; }  // fetched in the training loop and not used
  uint32_t stream() const { return stream_; }                    // the thread that trains

 private:
  friend class StepClockBuilder;
  void FillRounds(const WorkClock& work);

  StepSource source_ = StepSource::kTime;
  Confidence confidence_ = Confidence::kLow;
  std::string sentence_;
  uint64_t first_begin_ = 0;
  uint64_t trace_begin_ = 0;
  uint64_t trace_end_ = 0;
  std::vector<uint64_t> ends_;  // of buckets 1.., ascending
  std::vector<Step> steps_;
  std::vector<Epoch> epochs_;
  std::vector<Interlude> evaluations_;
  std::vector<Interlude> checkpoints_;
  std::vector<Interlude> phases_;
  double steps_per_epoch_ = 0;
  double steps_before_run_ = 0;
  bool steps_per_epoch_is_measured_ = false;
  bool epochs_are_marked_ = false;
  double batches_per_step_ = 0;
  double examples_per_step_ = 0;
  uint64_t dataset_examples_ = 0;
  DataOrder data_order_ = DataOrder::kUnknown;
  uint64_t loader_workers_ = 0;
  uint32_t skipped_batches_ = 0;
  uint32_t stream_ = 0;
  double allocated_bytes_ = 0;
  std::string loop_;
  bool are_rounds_seen_ = false;
  bool saw_loop_ = false;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_STEP_CLOCK_H_

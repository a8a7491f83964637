// What is known about a run besides its memory: how long it was, how long one pass over the data is, when it
// evaluated, and what memory it may use.
//
// A plain value. Steps are counted from 1; step 0 is everything before the first step. A field that is
// unknown is empty, never zero: an unknown epoch length changes what can honestly be said about a growing
// site.
#ifndef PLATEAU_ANALYZER_SERIES_RUN_CONTEXT_H_
#define PLATEAU_ANALYZER_SERIES_RUN_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plateau::series {

// Steps at which something periodic happened: "eval", "checkpoint", or a name of the user's own.
struct EventTrack {
  std::string name;
  std::vector<int64_t> steps;  // ascending
};

// What stands in for a step.
//
// Rounds of a loop are as good as steps when each was seen. Ticks of a loop that was seen now and then, parts
// of the allocated bytes and slices of time are not: they tell which line grows, by how much a second and a
// GiB allocated, and whether it went on to the end. A rate per step, `steady` and `cache_fill` are not for
// them to say.
enum class StepUnit { kStep, kBatch, kRound, kTick, kBytePart, kTimeSlice };

// Who set the limit that forecasts speak of.
enum class LimitSource { kGiven, kCgroup, kMachine };
const char* LimitSourceName(LimitSource source);  // "given", "cgroup", "machine"

struct RunContext {
  int64_t steps = 0;  // the last step seen
  StepUnit unit = StepUnit::kStep;
  std::optional<double> epoch_steps;  // steps per pass over the data; may be fractional
  // True: the run was watched and no pass over data was seen in it. Growth is judged without one then, instead
  // of waiting for a length that nobody can give.
  bool has_no_pass = false;
  std::optional<double> examples_per_step;  // global, after gradient accumulation
  std::optional<double> dataset_examples;
  std::vector<double> unique_seen;  // distinct examples seen by step 0..steps; empty when unknown
  std::optional<double> planned_steps;
  std::vector<EventTrack> events;

  double reference_bytes = 0;         // peak of the process (or pool): what a rate is compared with
  std::optional<double> limit_bytes;  // cgroup, host or device limit
  LimitSource limit_source = LimitSource::kGiven;
  std::optional<double>
      level_now_bytes;  // level a forecast starts from; the site's own retained bytes if empty
  std::optional<double> seconds_per_step;  // turns forecasts into time
  double sample_interval_bytes = 0;        // 0: every allocation was recorded
  double sampled_site_interval_bytes = 0;  // the same of sites that were sampled, in exact mode too
  double lost_rate = 0;                    // share of free events that were lost

  int64_t bucket_steps = 1;             // steps merged into one bucket of a series
  double allocated_bytes_per_step = 0;  // where that was counted: of a unit that is no step
  std::string loop;                     // whose rounds or ticks the steps are: "train.py:21"
  bool saw_loop = true;                 // false: the program was watched, and nothing in it went round

  // Whether what is said per step is said per something that the program repeats.
  bool CountsSteps() const {
    return unit == StepUnit::kStep || unit == StepUnit::kBatch || unit == StepUnit::kRound;
  }

  // True: the limit is the yardstick of growth when there is one. False: the peak is, and the limit is for
  // forecasts alone, as for a limit that was found on the machine and may be far above what the run needs.
  bool limit_is_reference = true;

  // The level a growth rate is compared with.
  double Reference() const {
    const bool use_limit = limit_bytes.value_or(0) > 0 && (limit_is_reference || reference_bytes <= 0);
    return use_limit ? *limit_bytes : reference_bytes;
  }

  const EventTrack* FindEvents(const std::string& name) const;

  // Steps of the "eval" and "checkpoint" tracks, in that order, unsorted.
  std::vector<int64_t> EvaluationSteps() const;

  // The same run measured in buckets of `width` steps. Every quantity in steps is divided; bytes stay.
  RunContext InBuckets(int64_t width) const;
};

// Bucket of a step when `width` steps share one: 0 stays 0 (before the first step), 1..width become 1, and so
// on.
inline int64_t BucketOfStep(int64_t step, int64_t width) {
  return step <= 0 ? 0 : (step + width - 1) / width;
}

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_RUN_CONTEXT_H_

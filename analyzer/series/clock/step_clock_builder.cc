// Makes a StepClock: of the marks of a training, or of what stands in for steps where the program marked none.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analyzer/series/clock/clock_sentence.h"
#include "analyzer/series/clock/data_passes.h"
#include "analyzer/series/clock/loop_events.h"
#include "analyzer/series/clock/step_clock.h"
#include "analyzer/series/clock/step_finder.h"

namespace plateau::series {
namespace {

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

uint32_t CountIn(const std::vector<uint64_t>& times, uint64_t after, uint64_t until) {
  return static_cast<uint32_t>(std::upper_bound(times.begin(), times.end(), until) -
                               std::upper_bound(times.begin(), times.end(), after));
}

// Interludes with no step between them are one: a checkpoint of several files, an evaluation on several sets.
void AddInterlude(std::vector<Interlude>* interludes, Interlude next) {
  if (!interludes->empty() && interludes->back().after_step == next.after_step) {
    interludes->back().end_time = std::max(interludes->back().end_time, next.end_time);
    interludes->back().batches += next.batches;
  } else {
    interludes->push_back(std::move(next));
  }
}

// Their ends.
std::vector<uint64_t> EqualSlices(uint64_t begin, uint64_t end, uint64_t most) {
  const uint64_t length = end > begin ? end - begin : 0;
  const uint64_t slices = std::min(most, length);
  std::vector<uint64_t> ends;
  for (uint64_t i = 1; i <= slices; ++i) {
    ends.push_back(begin + length / slices * i + length % slices * i / slices);  // length * i may not fit
  }
  return ends;
}

// The length in which the middle one of all steps lies: of a few long epochs and many short ones that of the long ones,
// where these hold most of the training.
double UsualLength(std::vector<double> lengths) {
  std::sort(lengths.begin(), lengths.end());
  const double all = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  double before = 0;
  for (const double length : lengths) {
    before += length;
    if (2 * before >= all) return length;
  }
  return lengths.back();
}

}  // namespace

class StepClockBuilder {
 public:
  StepClockBuilder(const MarkLog& log, const StepClockOptions& options)
      : log_(log), options_(options), events_(CollectLoopEvents(log, options.end_time)) {}

  StepClock Build() {
    clock_.trace_begin_ = options_.begin_time;
    clock_.trace_end_ = options_.end_time;
    clock_.stream_ = events_.stream;
    passes_ = FindDataPasses(events_, options_.end_time);
    FindSteps();
    if (clock_.source_ <= StepSource::kBackward) {
      FillSteps();
      FindEpochs();
      FindInterludes();
      FindLoader();
    } else if (clock_.source_ == StepSource::kFetch) {
      FillBatches();
    } else {
      FillTime();
    }
    clock_.skipped_batches_ = passes_.skipped_batches;
    Judge();
    clock_.sentence_ = DescribeClock(clock_, events_, passes_, log_, options_);
    return std::move(clock_);
  }

 private:
  void FindSteps() {
    if (!events_.explicit_steps.empty()) {
      clock_.source_ = StepSource::kExplicit;
      for (uint64_t time : events_.explicit_steps) ends_.push_back({time, 0, false});
    } else if (!events_.optimizer_steps.empty()) {
      clock_.source_ = StepSource::kOptimizer;
      ends_ = StepsOfOptimizers(events_, passes_);
    } else if (!events_.backwards.empty()) {
      clock_.source_ = StepSource::kBackward;
      ends_ = StepsOfBackwards(events_, passes_);
    } else if (events_.fetches.size() >= 3) {
      clock_.source_ = StepSource::kFetch;
    } else {
      clock_.source_ = StepSource::kTime;
    }
  }

  // The first thing the loop did for its first step.
  uint64_t BeginOfFirst() const {
    uint64_t begin = ends_.front().time;
    const auto consider = [&](uint64_t time) { begin = std::min(begin, time); };
    if (!passes_.used_fetch_begins.empty()) consider(passes_.used_fetch_begins.front());
    if (!events_.backwards.empty()) consider(events_.backwards.front().begin);
    if (!events_.optimizer_steps.empty()) consider(events_.optimizer_steps.front().begin);
    if (!events_.zero_grads.empty()) consider(events_.zero_grads.front());
    return begin;
  }

  void FillSteps() {
    clock_.first_begin_ = BeginOfFirst();
    std::vector<uint64_t> backwards;
    for (const BackwardEvent& backward : events_.backwards) backwards.push_back(backward.begin);
    uint64_t begin = clock_.first_begin_;
    for (const StepEnd& end : ends_) {
      const uint64_t after = begin == 0 ? 0 : begin - (clock_.steps_.empty() ? 1 : 0);
      clock_.ends_.push_back(end.time);
      clock_.steps_.push_back({begin, end.time, CountIn(passes_.used_fetch_ends, after, end.time),
                               CountIn(backwards, after, end.time), end.optimizer_steps, end.is_skipped});
      begin = end.time;
    }
    MeasureBatches();
  }

  // Batches a step, over the steps that were fed by the loader: replays of its batches fetch nothing.
  void MeasureBatches() {
    size_t steps = clock_.steps_.size();
    for (size_t i = passes_.epoch_ends.size(); i-- > 0;) {
      if (passes_.epoch_ends[i].is_replay) continue;
      if (i + 1 < passes_.epoch_ends.size()) steps = StepsEndedBy(passes_.epoch_ends[i].time);
      break;
    }
    if (steps == 0) return;
    const std::vector<uint64_t>& ends =
        passes_.epoch_fetch_ends.empty() ? passes_.used_fetch_ends : passes_.epoch_fetch_ends;
    uint64_t fetches = CountIn(ends, 0, clock_.steps_[steps - 1].end_time);
    fetches -= std::min<uint64_t>(fetches, passes_.batches_ahead);
    clock_.batches_per_step_ = static_cast<double>(fetches) / static_cast<double>(steps);
  }

  uint32_t StepsEndedBy(uint64_t time) const {
    return static_cast<uint32_t>(std::upper_bound(clock_.ends_.begin(), clock_.ends_.end(), time) -
                                 clock_.ends_.begin());
  }

  void FindEpochs() {
    std::vector<EpochEnd> ends = passes_.epoch_ends;
    if (!events_.explicit_epochs.empty()) {
      clock_.epochs_are_marked_ = true;
      ends.clear();
      // A mark before the first step says that epochs are marked where they begin.
      std::vector<uint64_t> times = events_.explicit_epochs;
      if (times.front() <= clock_.ends_.front()) times.erase(times.begin());
      for (uint64_t time : times) ends.push_back({time, 0});
    }
    uint32_t last_step = 0;
    uint64_t begin = clock_.first_begin_;
    for (const EpochEnd& end : ends) {
      const uint32_t steps = StepsEndedBy(end.time);
      if (steps <= last_step) continue;
      clock_.epochs_.push_back({last_step + 1, steps, end.batches, begin, end.time, true, end.skipped});
      last_step = steps;
      begin = end.time;
    }
    const bool has_epochs = !clock_.epochs_.empty() || !events_.fetches.empty();
    if (has_epochs && last_step < clock_.step_count()) {
      clock_.epochs_.push_back({last_step + 1, clock_.step_count(), passes_.batches_after_last_epoch, begin,
                                clock_.ends_.back(), false, 0});
    }
    MeasureEpochs();
  }

  void MeasureEpochs() {
    // The rest of a pass that began in an earlier run tells the length only where no whole pass does.
    const bool has_whole = std::any_of(clock_.epochs_.begin(), clock_.epochs_.end(), [](const Epoch& epoch) {
      return epoch.is_complete && epoch.skipped_batches == 0;
    });
    std::vector<double> lengths;
    for (const Epoch& epoch : clock_.epochs_) {
      if (!epoch.is_complete || (has_whole && epoch.skipped_batches > 0)) continue;
      const bool has_batches = epoch.batches > 0 && clock_.batches_per_step_ > 0;
      lengths.push_back(has_batches ? (epoch.batches + epoch.skipped_batches) / clock_.batches_per_step_
                                    : static_cast<double>(epoch.last_step - epoch.first_step + 1));
    }
    if (clock_.batches_per_step_ > 0) {
      clock_.steps_before_run_ = passes_.batches_before_run / clock_.batches_per_step_;
    }
    if (lengths.empty()) return;
    clock_.steps_per_epoch_ = UsualLength(std::move(lengths));
    clock_.steps_per_epoch_is_measured_ = true;
  }

  void FindInterludes() {
    for (const EvaluationPass& pass : passes_.evaluations) {
      const uint32_t after = StepsEndedBy(pass.begin);
      if (after == 0 && pass.batches == 0) continue;  // model.eval() while loading
      if (IsInCheck(pass.begin)) continue;
      clock_.evaluations_.push_back({pass.begin, pass.end, after, pass.batches, {}});
    }
    std::vector<Interlude> explicit_evaluations;
    for (const PhaseEvent& phase : events_.phases) {
      const std::string& name = log_.Name(phase.name);
      const Interlude interlude = {phase.begin, phase.end, StepsEndedBy(phase.begin), 0, name};
      if (IsOneOf(name, {"eval", "evaluation", "evaluate", "validation", "validate", "val", "test"})) {
        AddInterlude(&explicit_evaluations, interlude);
      } else if (IsOneOf(name, {"checkpoint", "save"})) {
        AddInterlude(&clock_.checkpoints_, interlude);
      } else {
        clock_.phases_.push_back(interlude);
      }
    }
    if (explicit_evaluations.empty()) return;
    for (Interlude& evaluation : explicit_evaluations) {
      for (const Interlude& found : clock_.evaluations_) {
        if (found.after_step == evaluation.after_step) evaluation.batches += found.batches;
      }
    }
    clock_.evaluations_ = std::move(explicit_evaluations);
  }

  // Lightning tries its validation loop before it trains, and says so.
  bool IsInCheck(uint64_t time) const {
    return std::any_of(events_.phases.begin(), events_.phases.end(), [&](const PhaseEvent& phase) {
      return !phase.is_explicit && log_.Name(phase.name) == "sanity check" && phase.begin <= time &&
             time <= phase.end;
    });
  }

  // The loader that feeds the training; where iterators are not known, the last one that was opened before the
  // first used batch.
  void FindLoader() {
    if (events_.loaders.empty() || passes_.used_fetch_begins.empty()) return;
    const LoaderEvent* training = passes_.is_loader_known ? &passes_.loader : nullptr;
    for (const LoaderEvent& loader : events_.loaders) {
      if (passes_.is_loader_known) break;
      if (loader.time <= passes_.used_fetch_ends.front()) training = &loader;
    }
    if (training == nullptr) return;
    clock_.dataset_examples_ = training->examples;
    clock_.data_order_ = training->order;
    clock_.loader_workers_ = training->workers;
    clock_.examples_per_step_ = static_cast<double>(training->batch_size) * clock_.batches_per_step_;
    if (clock_.steps_per_epoch_ == 0 && training->batches > 0 && clock_.batches_per_step_ > 0) {
      clock_.steps_per_epoch_ = static_cast<double>(training->batches) / clock_.batches_per_step_;
    }
  }

  void FillBatches() {
    clock_.first_begin_ = events_.fetches.front().begin;
    const bool are_stops_known = passes_.are_stops_known;
    for (size_t i = 0; i < events_.fetches.size(); ++i) {
      if (are_stops_known && events_.fetches[i].is_stop) continue;
      const bool is_last = i + 1 == events_.fetches.size();
      clock_.ends_.push_back(is_last ? options_.end_time : events_.fetches[i + 1].begin);
    }
  }

  void FillTime() {
    clock_.first_begin_ = options_.begin_time;
    clock_.ends_ = EqualSlices(options_.begin_time, options_.end_time, options_.max_time_buckets);
  }

  void Judge() {
    switch (clock_.source_) {
      case StepSource::kExplicit:
        clock_.confidence_ = Confidence::kHigh;
        break;
      case StepSource::kOptimizer: {
        const bool is_confirmed = !events_.backwards.empty() || !passes_.used_fetch_begins.empty();
        clock_.confidence_ = is_confirmed ? Confidence::kHigh : Confidence::kMedium;
        if (events_.other_streams > 0 || !passes_.are_stops_known) clock_.confidence_ = Confidence::kMedium;
        break;
      }
      case StepSource::kBackward: {
        const bool has_border = !events_.zero_grads.empty() || !passes_.used_fetch_begins.empty();
        clock_.confidence_ = has_border ? Confidence::kMedium : Confidence::kLow;
        break;
      }
      case StepSource::kRounds:
      case StepSource::kFetch:
      case StepSource::kBytes:
      case StepSource::kTime:
        clock_.confidence_ = Confidence::kLow;
        break;
    }
  }

  const MarkLog& log_;
  const StepClockOptions& options_;
  const LoopEvents events_;
  DataPasses passes_;
  std::vector<StepEnd> ends_;
  StepClock clock_;
};

StepClock StepClock::Build(const MarkLog& log, const StepClockOptions& options) {
  return StepClockBuilder(log, options).Build();
}

StepClock StepClock::OfWork(const WorkClock& work, const StepClockOptions& options) {
  StepClock clock;
  clock.source_ = work.source;
  clock.trace_begin_ = options.begin_time;
  clock.trace_end_ = options.end_time;
  clock.first_begin_ = work.begin;
  clock.ends_ = work.source == StepSource::kTime ? EqualSlices(work.begin, work.end, options.max_time_buckets)
                                                 : work.ends;
  // An end is the first moment behind its part, and the last allocation belongs to the last part.
  if (!clock.ends_.empty() && work.source != StepSource::kRounds && clock.ends_.back() == work.end)
    ++clock.ends_.back();
  clock.allocated_bytes_ = work.allocated_bytes;
  clock.loop_ = work.loop;
  clock.are_rounds_seen_ = work.is_seen;
  clock.saw_loop_ = work.saw_loop || !work.loop.empty();
  if (work.source == StepSource::kRounds) clock.FillRounds(work);
  clock.sentence_ = DescribeWork(clock, work, options);
  return clock;
}

void StepClock::FillRounds(const WorkClock& work) {
  confidence_ = work.is_seen ? Confidence::kMedium : Confidence::kHigh;
  uint64_t begin = work.begin;
  for (const uint64_t end : work.ends) {
    steps_.push_back({begin, end, 0, 0, 0, false});
    begin = end;
  }
  uint32_t last = 0;
  for (const uint32_t end : work.epoch_ends) {
    if (end <= last || end > steps_.size()) continue;
    epochs_.push_back({last + 1, end, 0, steps_[last].begin_time, steps_[end - 1].end_time, true});
    last = end;
  }
  if (epochs_.empty()) return;
  std::vector<double> lengths;
  for (const Epoch& epoch : epochs_) lengths.push_back(epoch.last_step - epoch.first_step + 1);
  steps_per_epoch_ = UsualLength(std::move(lengths));
  steps_per_epoch_is_measured_ = true;
  if (last < steps_.size()) {
    epochs_.push_back({last + 1, step_count(), 0, steps_[last].begin_time, steps_.back().end_time, false});
  }
}

}  // namespace plateau::series

#include "analyzer/series/clock/clock_sentence.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

namespace plateau::series {
namespace {

std::string Count(uint64_t number, std::string_view noun) {
  std::string text = std::to_string(number) + " " + std::string(noun);
  if (number != 1) text += noun == "batch" ? "es" : "s";
  return text;
}

// 82.875 -> "82.9", 83 -> "83".
std::string Decimal(double number) {
  char text[32];
  snprintf(text, sizeof(text), "%.*f", std::abs(number - std::round(number)) < 0.05 ? 0 : 1, number);
  return text;
}

uint32_t Usual(const std::vector<Step>& steps, uint32_t Step::*member) {
  std::map<uint32_t, size_t> counts;
  for (const Step& step : steps) ++counts[step.*member];
  uint32_t usual = 0;
  size_t most = 0;
  for (const auto& [value, count] : counts) {
    if (count > most) {
      most = count;
      usual = value;
    }
  }
  return usual;
}

std::string OptimizerNames(const LoopEvents& events, const MarkLog& log) {
  std::set<std::string> names;
  for (const OptimizerEvent& step : events.optimizer_steps) names.insert(log.Name(step.name));
  names.erase("");
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string DescribeSource(const StepClock& clock, const LoopEvents& events, const MarkLog& log) {
  const std::string steps = Count(clock.step_count(), "step");
  switch (clock.source()) {
    case StepSource::kExplicit:
      return steps + " from explicit marks";
    case StepSource::kOptimizer: {
      const std::string names = OptimizerNames(events, log);
      std::string text = steps + " from optimizer steps" + (names.empty() ? "" : " (" + names + ")");
      const uint32_t optimizers = Usual(clock.steps(), &Step::optimizer_steps);
      if (optimizers > 1) text += ", " + Count(optimizers, "optimizer step") + " each";
      return text;
    }
    case StepSource::kBackward:
      return steps + " from backward passes; no optimizer step was seen";
    case StepSource::kRounds:
      return steps + " are rounds of " + clock.loop();
    case StepSource::kFetch:
      return "no training steps; " + Count(clock.last_bucket(), "batch") + " of a DataLoader are the clock";
    case StepSource::kBytes:
      return "no training steps were found; " + Count(clock.last_bucket(), "part") +
             " of what was allocated are the clock";
    case StepSource::kTime:
      return "no training steps were found; time-based, in " + Count(clock.last_bucket(), "slice");
  }
  return steps;
}

std::string DescribeEpochs(const StepClock& clock) {
  if (clock.steps_per_epoch() == 0) {
    return "The length of an epoch is unknown.";
  }
  std::string text = Count(clock.complete_epochs(), "epoch") + " completed, " +
                     Decimal(clock.steps_per_epoch()) + " steps each";
  if (clock.epochs_are_marked()) return text + " (as the program marked them).";
  text += clock.steps_per_epoch_is_measured() ? " (the DataLoader ran out)"
                                              : " (from the length of the DataLoader)";
  text += ".";
  if (clock.steps_before_run() > 0) {
    text += " The run goes on from a checkpoint: its first pass began " + Decimal(clock.steps_before_run()) +
            " steps before it.";
  }
  return text;
}

}  // namespace

std::string DescribeClock(const StepClock& clock, const LoopEvents& events, const DataPasses& passes,
                          const MarkLog& log, const StepClockOptions& options) {
  std::string text = DescribeSource(clock, events, log);
  if (clock.source() == StepSource::kTime && options.seconds_per_time_unit > 0 && clock.last_bucket() > 0) {
    const double ticks = static_cast<double>(options.end_time - options.begin_time) / clock.last_bucket();
    char length[48];
    snprintf(length, sizeof(length), " of %.3g s", ticks * options.seconds_per_time_unit);
    text += length;
  }
  if (clock.step_count() > 0) {
    const uint32_t backwards = Usual(clock.steps(), &Step::backwards);
    if (backwards > 1) text += ", " + std::to_string(backwards) + " backward passes per step";
    if (clock.batches_per_step() > 0)
      text += ", " +
              (clock.batches_per_step() == 1 ? "1 batch" : Decimal(clock.batches_per_step()) + " batches") +
              " per step";
  }
  text += ".";
  if (clock.step_count() == 0) return text;
  text += " " + DescribeEpochs(clock);
  if (!clock.evaluations().empty()) text += " " + Count(clock.evaluations().size(), "evaluation") + ".";
  if (!clock.checkpoints().empty()) text += " " + Count(clock.checkpoints().size(), "checkpoint") + ".";
  if (clock.skipped_steps() > 0) {
    text += " " + Count(clock.skipped_steps(), "step") + " dropped the gradients without an optimizer step.";
  }
  if (clock.skipped_batches() > 0)
    text += " " + Count(clock.skipped_batches(), "batch") + " fetched and not used.";
  if (events.other_streams > 0) {
    text += " " + Count(events.other_streams, "other thread") +
            " also took optimizer steps; the clock follows one.";
  }
  if (!events.fetches.empty() && !passes.are_stops_known) {
    text += " Ends of epochs were inferred from the order of fetches.";
  }
  if (options.is_of_parent) text += " Counted in the training process that this one serves.";
  return text;
}

std::string DescribeWork(const StepClock& clock, const WorkClock& work, const StepClockOptions& options) {
  char text[256];
  if (clock.source() == StepSource::kRounds) {
    std::string rounds = Count(clock.step_count(), "step") + ": rounds of the loop at " + clock.loop() +
                         (work.is_seen ? ", seen in the stacks of allocations; a round that left none is not "
                                         "among them, so their number is "
                                         "likely, not certain. "
                                       : ", each counted. ");
    if (clock.steps_per_epoch() == 0) return rounds + "The length of an epoch is unknown.";
    return rounds + Count(clock.complete_epochs(), "epoch") + " completed, " +
           Decimal(clock.steps_per_epoch()) + " steps each (rounds of " + work.epoch_loop + ").";
  }
  std::string sentence = "No training steps were found; the clock is ";
  if (clock.source() == StepSource::kBytes) {
    snprintf(text, sizeof(text), "what was allocated, %.3g MiB in %u parts", work.allocated_bytes / 0x1p20,
             clock.last_bucket());
  } else {
    snprintf(text, sizeof(text), "time, in %u slices", clock.last_bucket());
  }
  sentence += text;
  if (options.seconds_per_time_unit > 0) {
    const auto seconds = [&options](uint64_t time) {
      return static_cast<double>(time - std::min(time, options.begin_time)) * options.seconds_per_time_unit;
    };
    snprintf(text, sizeof(text), ". The program's work is judged from %.3g s to %.3g s of %.3g s",
             seconds(work.begin), seconds(work.end), seconds(options.end_time));
    sentence += text;
  }
  sentence += ".";
  if (!work.thinned_loop.empty()) {
    sentence += " A loop goes round at " + work.thinned_loop +
                ", but not every round of it left a recorded allocation, so its rounds are not counted.";
  }
  return sentence;
}

}  // namespace plateau::series

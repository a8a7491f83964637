#include "analyzer/process/process_clock.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "analyzer/series/clock/round_marks.h"
#include "analyzer/series/clock/work_clock.h"

namespace plateau::process {
namespace {

series::MarkLog LogOf(const std::vector<replay::TimedMark>& marks) {
  series::MarkLog log;
  for (const replay::TimedMark& mark : marks) {
    log.Add(mark.tsc, mark.stream, mark.kind, mark.source, mark.value, mark.name);
  }
  log.Finish();
  return log;
}

ProcessClock ClockOfMarks(const std::vector<replay::TimedMark>& marks,
                          const series::StepClockOptions& options) {
  const series::MarkLog log = LogOf(marks);
  ProcessClock clock;
  clock.steps = series::StepClock::Build(log, options);
  clock.phases = series::PhaseMap::Build(log, clock.steps, options.end_time);
  return clock;
}

// The marks that the parent made while the worker lived, and what it had noted about its loader before.
std::vector<replay::TimedMark> MarksDuring(const std::vector<replay::TimedMark>& marks, uint64_t begin,
                                           uint64_t end) {
  std::vector<replay::TimedMark> during;
  for (const replay::TimedMark& mark : marks) {
    if (mark.tsc <= end && (mark.tsc >= begin || mark.kind == trace::MarkKind::kNote)) during.push_back(mark);
  }
  return during;
}

// Whether the parent trained on without this worker. A worker is some batches ahead, so its last allocation
// comes some steps before the end of a training that it served to the end.
bool EndedBeforeParent(uint64_t end, uint32_t steps, const std::vector<replay::TimedMark>& parent_marks) {
  constexpr uint32_t kBatchesAhead = 16;
  const auto later_steps = absl::c_count_if(parent_marks, [end](const replay::TimedMark& mark) {
    return mark.tsc > end && mark.kind == trace::MarkKind::kBackwardBegin;
  });
  return later_steps > std::max(kBatchesAhead, steps / 5);
}

// Rounds that were counted, or what the allocations tell.
series::WorkClock WorkClockOf(const ProcessTrace& trace, int threads) {
  const replay::Definitions& definitions = trace.definitions;
  if (auto rounds = series::ClockOfRounds(LogOf(definitions.marks), definitions.first_tsc)) return *rounds;
  series::WorkEnd end = {definitions.last_tsc, std::nullopt, !definitions.summary.clean_exit};
  for (const replay::TimedMark& mark : definitions.marks) {
    const bool is_exit = mark.kind == trace::MarkKind::kNote && mark.source == trace::MarkSource::kCppHook &&
                         mark.name == "exit";
    if (is_exit) end.exit_time = mark.tsc;  // of several interpreters the last
  }
  return series::FindWorkClock(*trace.reader, definitions, end, {.threads = threads});
}

}  // namespace

ProcessClock BuildClock(const ProcessTrace& trace, const std::vector<replay::TimedMark>& parent_marks,
                        int threads) {
  const replay::Definitions& definitions = trace.definitions;
  series::StepClockOptions options;
  options.begin_time = definitions.first_tsc;
  options.end_time = definitions.last_tsc;
  options.seconds_per_time_unit = trace.reader->NsPerTick() * 1e-9;
  ProcessClock clock = ClockOfMarks(definitions.marks, options);
  if (!parent_marks.empty() && clock.steps.source() == series::StepSource::kTime) {
    options.is_of_parent = true;
    ProcessClock parent =
        ClockOfMarks(MarksDuring(parent_marks, options.begin_time, options.end_time), options);
    // The steps are taken over, but not the phases: what the parent was doing says nothing about the
    // allocations of a worker.
    if (parent.steps.step_count() > 0) {
      clock.steps = std::move(parent.steps);
      clock.is_of_parent = true;
    }
  }
  if (clock.steps.source() == series::StepSource::kTime) {
    options.is_of_parent = false;
    clock.steps = series::StepClock::OfWork(WorkClockOf(trace, threads), options);
  }
  clock.ended_before_parent = EndedBeforeParent(definitions.last_tsc, clock.steps.step_count(), parent_marks);
  return clock;
}

}  // namespace plateau::process

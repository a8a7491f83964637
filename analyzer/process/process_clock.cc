#include "analyzer/process/process_clock.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analyzer/series/clock/round_marks.h"
#include "analyzer/series/clock/work_clock.h"
#include "analyzer/symbols/python_lines.h"

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

absl::string_view Basename(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsOneOf(absl::string_view text, std::initializer_list<absl::string_view> parts) {
  return absl::c_any_of(parts, [text](absl::string_view part) { return absl::StrContains(text, part); });
}

bool IsInstalled(absl::string_view file) {
  return IsOneOf(file, {"/site-packages/", "/dist-packages/", "/lib/python3", "<frozen "});
}

// Whether the function of a place is of a program's own files. Native functions all are.
bool IsUsers(const replay::Definitions& definitions, const series::Place& place) {
  if (place.location >= definitions.locations.size()) return false;
  const replay::Location& where = definitions.locations[place.location];
  return where.kind != replay::Location::Kind::kPython || !IsInstalled(definitions.codes[where.owner].file);
}

// A loop's line, and whose it is.
series::LoopName NameOfLoop(const replay::Definitions& definitions, FrameNames* names,
                            const series::LoopPlaces& places, const series::Loop& loop) {
  const uint32_t location = places[loop.place].location;
  const bool is_known = location < definitions.locations.size();
  const bool is_python = is_known && definitions.locations[location].kind == replay::Location::Kind::kPython;
  if (!is_python) {
    const Frame& frame = names->Shown(location);
    if (frame.file.empty()) return {SiteTitle(frame), true, false};
    return {absl::StrCat(Basename(frame.file), ":", frame.line), true, false};
  }
  const replay::CodeObject& code = definitions.codes[definitions.locations[location].owner];
  series::LoopName name;
  if (loop.code != 0) {
    const int line = symbols::PythonLine(code.python_version, static_cast<int>(code.first_line),
                                         code.line_table, loop.span.head);
    name.line = absl::StrCat(Basename(code.file), ":", line);
  } else {
    name.line = absl::StrCat(Basename(code.file), ":", code.first_line, " (calls of ", code.name, ")");
  }
  name.is_users = !IsInstalled(code.file);
  name.is_schedule = loop.code != 0 && series::IsScheduleFile(code.file);
  return name;
}

// Numbers for native functions, by their names.
class NativeFunctions {
 public:
  NativeFunctions(const replay::Definitions& definitions, FrameNames* names)
      : definitions_(definitions), names_(names) {}

  uint32_t Of(uint32_t location) {
    // An inlined function is a part of the one that it was inlined into.
    const Frame& frame = names_->Of(location).back();
    const uint32_t module = definitions_.locations[location].owner;
    const auto next = static_cast<uint32_t>(numbers_.size() + 1);
    return numbers_.try_emplace(std::pair(module, frame.function), next).first->second;
  }

 private:
  const replay::Definitions& definitions_;
  FrameNames* names_;
  absl::flat_hash_map<std::pair<uint32_t, std::string>, uint32_t> numbers_;
};

// Rounds that were counted, or what the allocations tell.
series::WorkClock WorkClockOf(const ProcessTrace& trace, FrameNames* names, int threads) {
  const replay::Definitions& definitions = trace.definitions;
  if (auto rounds = series::ClockOfRounds(LogOf(definitions.marks), definitions.first_tsc)) return *rounds;
  series::WorkEnd end = {definitions.last_tsc, std::nullopt, !definitions.summary.clean_exit};
  for (const replay::TimedMark& mark : definitions.marks) {
    const bool is_exit = mark.kind == trace::MarkKind::kNote && mark.source == trace::MarkSource::kCppHook &&
                         mark.name == "exit";
    if (is_exit) end.exit_time = mark.tsc;  // of several interpreters the last
  }
  series::WorkClockOptions options;
  options.threads = threads;
  options.ticks_per_second = 1e9 / trace.reader->NsPerTick();
  const bool is_exact = trace.reader->header().mode == static_cast<uint8_t>(trace::Mode::kExact);
  options.exact_from_bytes = is_exact ? 0 : trace.reader->header().exact_from_bytes;
  for (const replay::TimedRate& timed : definitions.rates)
    options.exact_from_bytes = std::max<uint64_t>(options.exact_from_bytes, timed.rate.exact_from_bytes);
  NativeFunctions functions(definitions, names);
  options.function_of = [&functions](uint32_t location) { return functions.Of(location); };
  options.name_of = [&](const series::LoopPlaces& places, const series::Loop& loop) {
    return NameOfLoop(definitions, names, places, loop);
  };
  options.is_users = [&definitions](const series::Place& place) { return IsUsers(definitions, place); };
  return series::FindWorkClock(*trace.reader, definitions, end, options);
}

}  // namespace

ProcessClock BuildClock(const ProcessTrace& trace, const std::vector<replay::TimedMark>& parent_marks,
                        FrameNames* names, int threads) {
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
    clock.steps = series::StepClock::OfWork(WorkClockOf(trace, names, threads), options);
  }
  clock.ended_before_parent = EndedBeforeParent(definitions.last_tsc, clock.steps.step_count(), parent_marks);
  return clock;
}

}  // namespace plateau::process

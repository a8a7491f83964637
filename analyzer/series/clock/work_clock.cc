#include "analyzer/series/clock/work_clock.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analyzer/replay/event_source.h"
#include "analyzer/replay/rate_table.h"
#include "analyzer/series/clock/loops/function_paths.h"
#include "analyzer/series/clock/loops/loop_choice.h"
#include "analyzer/series/clock/loops/loop_finder.h"

namespace plateau::series {
namespace {

using trace::RecordKind;

// Too few parts of bytes to judge anything over.
constexpr size_t kFewestParts = 40;

// Gives every allocation until `exit_time` to the log.
class AllocationReader {
 public:
  AllocationReader(const reader::TraceReader& reader, const replay::Definitions& definitions,
                   uint64_t exit_time, const WorkClockOptions& options)
      : definitions_(definitions), exit_time_(exit_time), paths_(&definitions), rates_(reader.header()) {
    if (options.name_of == nullptr) return;
    loops_.emplace(&definitions, &paths_, options.function_of);
  }

  void Take(const replay::EventRun& run) {
    const replay::EventBlock& block = *run.block;
    const std::vector<replay::Stamp>& stamps = block.stamps();
    size_t stamp = run.stamp;
    uint64_t now = stamps[stamp].tsc;
    for (size_t i = run.begin; i < run.end; ++i) {
      const replay::Event& event = block.events()[i];
      if (event.flags & replay::kEventTimed) {
        while (stamp + 1 < stamps.size() && stamps[stamp + 1].event <= i) ++stamp;
        now = stamps[stamp].tsc;
      }
      const RecordKind kind = event.Kind();
      if (kind == RecordKind::kFree || kind == RecordKind::kFreeIn) {
        if (now <= exit_time_) log_.AddFree();
        continue;
      }
      if ((kind != RecordKind::kAlloc && kind != RecordKind::kAllocIn) || event.flags & replay::kEventRare)
        continue;
      if (now > exit_time_) {
        bytes_after_exit_ += static_cast<double>(block.BytesOf(event));
        continue;
      }
      bytes_before_exit_ += static_cast<double>(block.BytesOf(event));
      while (next_rate_ < definitions_.rates.size() && now >= definitions_.rates[next_rate_].tsc)
        rates_.Add(definitions_.rates[next_rate_++].rate);
      const uint64_t bytes = block.BytesOf(event);
      const uint8_t rate = kind == RecordKind::kAllocIn ? rates_.python() : rates_.current();
      const double weight = rates_.Weight(rate, bytes);
      const uint32_t node = definitions_.Canonical(block.StackOf(event));
      const uint32_t path = paths_.PathOf(node);
      log_.Add(now, path, paths_[path].is_import, static_cast<double>(bytes), weight);
      if (loops_) loops_->Add(block.stream(), now, node, bytes, weight);
    }
  }

  // Whether a good part of the work was done after what the mark took for the exit: by a program that had an
  // interpreter in it, and went on without.
  bool WentOn() const { return bytes_after_exit_ > 0.1 * bytes_before_exit_; }
  WorkLog& log() { return log_; }
  const FunctionPaths& paths() const { return paths_; }
  const std::optional<LoopFinder>& loops() const { return loops_; }

 private:
  const replay::Definitions& definitions_;
  const uint64_t exit_time_;
  FunctionPaths paths_;
  replay::RateTable rates_;
  size_t next_rate_ = 0;
  double bytes_before_exit_ = 0;
  double bytes_after_exit_ = 0;
  WorkLog log_;
  std::optional<LoopFinder> loops_;
};

// Anonymous resident memory at the samples of the ledger, until the program began to exit.
class ResidentLevels {
 public:
  ResidentLevels(const replay::Definitions& definitions, uint64_t exit_time) {
    for (const replay::TimedLedger& sample : definitions.ledger) {
      if (sample.tsc > exit_time) break;
      const auto resident = sample.fields.find(trace::LedgerField::kRssAnonBytes);
      if (resident != sample.fields.end())
        levels_.emplace_back(sample.tsc, static_cast<double>(resident->second));
    }
  }

  // By how much the highest level between the two times is above the level at the first.
  double Rise(uint64_t begin, uint64_t end) const {
    double first = 0, highest = 0;
    for (const auto& [tsc, bytes] : levels_) {
      if (tsc > end) break;
      if (tsc <= begin || first == 0) first = bytes;
      if (tsc > begin) highest = std::max(highest, bytes);
    }
    return std::max(0.0, highest - first);
  }

 private:
  std::vector<std::pair<uint64_t, double>> levels_;
};

// Whether the program did something else for half as long as it went round the loop, and its memory grew more then.
bool IsBesideTheWork(const WorkClock& rounds, const ResidentLevels& levels, uint64_t work_end) {
  constexpr double kWorthALook = 4 << 20;  // bytes
  if (work_end <= rounds.end || 2 * (work_end - rounds.end) <= rounds.end - rounds.begin) return false;
  const double behind = levels.Rise(rounds.end, work_end);
  return behind > kWorthALook && behind > levels.Rise(rounds.begin, rounds.end);
}

// The rounds of a loop as a clock; empty when their times cannot be told apart.
std::optional<WorkClock> ClockOfLoop(const LoopFinder& finder, const ChosenLoop& loop) {
  constexpr size_t kFewestTimes = 40;
  WorkClock clock;
  clock.source = StepSource::kRounds;
  clock.is_seen = true;
  clock.loop = loop.name.line;
  clock.begin = finder.TimeOf(loop.begins.front());
  clock.end = finder.TimeOf(loop.end);
  size_t times = 1;
  for (size_t i = 1; i <= loop.begins.size(); ++i) {
    // What begins a round is in it.
    const uint64_t end = i < loop.begins.size() ? finder.TimeOf(loop.begins[i]) - 1 : clock.end;
    times += !clock.ends.empty() && end > clock.ends.back();
    clock.ends.push_back(std::max(end, clock.begin));
  }
  if (times < std::min(kFewestTimes, loop.begins.size())) return std::nullopt;
  clock.epoch_loop = loop.epoch_line;
  clock.epoch_ends = loop.epoch_ends;
  return clock;
}

// The first round of a loop may compile, load or fill what the others use: where it allocates more than a round does, equal
// parts of the bytes are parts of that round, and what it made looks like growth. The window begins with the second one.
WorkWindow WithoutFirstRound(const WorkLog& log, const WorkWindow& window, const LoopFinder& finder,
                             const ChosenLoop& loop) {
  constexpr double kMuch = 0.1;
  const WorkWindow rest = log.From(window, finder.TimeOf(loop.begins[1]));
  return rest.allocated_bytes < (1 - kMuch) * window.allocated_bytes ? rest : window;
}

}  // namespace

WorkClock FindWorkClock(const reader::TraceReader& reader, const replay::Definitions& definitions,
                        const WorkEnd& end, const WorkClockOptions& options) {
  AllocationReader allocations(reader, definitions, end.exit_time.value_or(UINT64_MAX), options);
  replay::EventSource source(reader, options.threads);
  source.ForEachRun([&allocations](const replay::EventRun& run) { allocations.Take(run); });
  if (end.exit_time && allocations.WentOn())
    return FindWorkClock(reader, definitions, {end.trace_end, std::nullopt, end.was_killed}, options);
  std::optional<ChosenLoop> loop;
  if (allocations.loops())
    loop = ChooseLoop(*allocations.loops(), {options.exact_from_bytes, options.name_of, options.is_users});
  const uint64_t work_end = end.exit_time.value_or(end.trace_end);
  const ResidentLevels levels(definitions, work_end);
  std::optional<WorkClock> rounds;
  if (loop && loop->has_all_rounds) rounds = ClockOfLoop(*allocations.loops(), *loop);
  if (rounds && IsBesideTheWork(*rounds, levels, work_end)) {
    // The work is what came after it. What grew needs no malloc of the program's, so parts of bytes would not tell when.
    WorkClock clock;
    clock.source = StepSource::kTime;
    clock.begin = rounds->end;
    clock.end = work_end;
    clock.saw_loop = true;
    return clock;
  }
  WorkEnd last = end;
  last.short_while = static_cast<uint64_t>(options.ticks_per_second);
  if (loop) last.loop_end = allocations.loops()->TimeOf(loop->end);
  WorkWindow window = allocations.log().Finish(allocations.paths(), last);
  if (rounds) {
    rounds->allocated_bytes = window.allocated_bytes;
    // The rest of the last round of a native program.
    const bool has_rest = !end.exit_time && window.end > rounds->end;
    if (has_rest && window.end - rounds->end <= last.short_while)
      rounds->end = rounds->ends.back() = window.end;
    return *rounds;
  }
  WorkClock clock;
  if (loop) clock.thinned_loop = loop->name.line;
  clock.saw_loop = loop.has_value();
  if (loop && loop->begins.size() > 1)
    window = WithoutFirstRound(allocations.log(), window, *allocations.loops(), *loop);
  clock.begin = window.begin != 0 ? window.begin : definitions.first_tsc;
  clock.end = window.begin != 0 ? window.end : end.exit_time.value_or(end.trace_end);
  clock.allocated_bytes = window.allocated_bytes;
  clock.ends = allocations.log().EqualParts(window, options.parts);
  clock.source = StepSource::kBytes;
  // Folded events have no times: what they did would be in no part.
  const bool is_folded =
      std::any_of(definitions.rates.begin(), definitions.rates.end(),
                  [](const replay::TimedRate& timed) { return timed.rate.mode == trace::Mode::kFolded; });
  if (clock.ends.size() < kFewestParts || is_folded) {
    clock.ends.clear();
    clock.source = StepSource::kTime;
  }
  return clock;
}

}  // namespace plateau::series

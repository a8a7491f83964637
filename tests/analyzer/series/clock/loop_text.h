// Training loops as text, one letter per thing the loop does, so that a test reads like the loop:
//   f fetch a batch   x the fetch that finds no more    z zero_grad   b backward pass   s optimizer step
//   (line 1) t optimizer step of the same class at line 2        u optimizer step of another class v fetch at
//   the line of the evaluation loop          y the evaluation loop's loader runs out E model.eval()    T
//   model.train()    c a checkpoint is written    ! explicit step    # explicit epoch ( ) nested: a begin or
//   end of a backward pass alone ' ' nothing
// Each letter takes ten units of time.
#ifndef PLATEAU_TESTS_ANALYZER_SERIES_CLOCK_LOOP_TEXT_H_
#define PLATEAU_TESTS_ANALYZER_SERIES_CLOCK_LOOP_TEXT_H_

#include <string>
#include <string_view>

#include "analyzer/series/clock/mark_log.h"
#include "analyzer/series/clock/step_clock.h"

namespace plateau::series {

struct LoopTextOptions {
  bool has_sites = true;      // false: marks carry no line
  bool has_one_site = false;  // true: stacks without Python frames, every range has the same one
  bool knows_stop = true;     // false: a fetch that found nothing looks like any other
  uint32_t stream = 1;
  trace::MarkSource source = trace::MarkSource::kRecordFunction;
};

inline std::string Times(int count, std::string_view text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// Adds the marks of `text` from time `begin` on; returns the time after it.
inline uint64_t AddLoop(MarkLog* log, std::string_view text, uint64_t begin = 100,
                        LoopTextOptions options = {}) {
  using enum trace::MarkKind;
  uint64_t time = begin;
  const auto add = [&](uint64_t at, trace::MarkKind kind, uint64_t value, std::string_view name,
                       trace::MarkSource source) {
    log->Add(time + at, options.stream, kind, source, value, name);
  };
  const auto mark = [&](uint64_t at, trace::MarkKind kind, uint64_t value = 0, std::string_view name = {}) {
    add(at, kind, value, name, options.source);
  };
  const auto site = [&](uint64_t line) { return options.has_one_site ? 77 : options.has_sites ? line : 0; };
  const auto fetch = [&](uint64_t line, bool is_stop) {
    mark(0, kFetchBegin, site(line));
    mark(4, is_stop && options.knows_stop ? kFetchStop : kFetchEnd, options.knows_stop ? 1 : 0);
  };
  const auto step = [&](uint64_t line, std::string_view name) {
    mark(0, kOptimizerBegin, site(line), name);
    mark(5, kStep, site(line), name);
  };
  for (char letter : text) {
    switch (letter) {
      case 'f':
        fetch(10, false);
        break;
      case 'x':
        fetch(10, true);
        break;
      case 'v':
        fetch(20, false);
        break;
      case 'y':
        fetch(20, true);
        break;
      case 'z':
        mark(0, kZeroGrad, site(11));
        break;
      case 'b':
        mark(0, kBackwardBegin, site(12));
        mark(6, kBackwardEnd);
        break;
      case '(':
        mark(0, kBackwardBegin, site(12));
        break;
      case ')':
        mark(0, kBackwardEnd);
        break;
      case 's':
        step(1, "Adam");
        break;
      case 't':
        step(2, "Adam");
        break;
      case 'u':
        step(3, "SGD");
        break;
      case 'E':
        mark(0, kTrainMode, 0);
        break;
      case 'T':
        mark(0, kTrainMode, 1);
        break;
      case 'c':
        mark(0, kPhaseBegin, 0, "checkpoint");
        mark(5, kPhaseEnd, 0, "checkpoint");
        break;
      case '!':
        add(0, kExplicitStep, 0, {}, trace::MarkSource::kExplicit);
        break;
      case '#':
        add(0, kEpoch, 0, {}, trace::MarkSource::kExplicit);
        break;
      default:
        break;
    }
    time += 10;
  }
  return time;
}

inline StepClock ClockOf(MarkLog* log, uint64_t end_time) {
  log->Finish();
  return StepClock::Build(*log, {.begin_time = 0, .end_time = end_time});
}

inline StepClock ClockOf(std::string_view text, LoopTextOptions options = {}) {
  MarkLog log;
  const uint64_t end = AddLoop(&log, text, 100, options);
  return ClockOf(&log, end + 50);
}

}  // namespace plateau::series

#endif  // PLATEAU_TESTS_ANALYZER_SERIES_CLOCK_LOOP_TEXT_H_

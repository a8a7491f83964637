// The marks of the thread that trains, put together: begins with their ends, nested backward passes as one,
// two reports of one step as one. What StepClock and PhaseMap read instead of raw marks.
//
// A begin whose end is missing (an exception, a killed run) ends where the next event of its thread begins.
// Pure; linear in the marks. All lists are ascending in time.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_LOOP_EVENTS_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_LOOP_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/series/clock/mark_log.h"

namespace plateau::series {

struct FetchEvent {
  uint64_t begin;
  uint64_t end;
  uint64_t site;
  bool is_stop;        // brought no batch: the loader ran out
  bool is_stop_known;  // false: the recorder could not tell a stop from a batch
  bool are_gradients_off = false;
  uint64_t iterator = 0;  // which iterator was asked (trace::FetchMark); 0 = not known
};

struct BackwardEvent {
  uint64_t begin;
  uint64_t end;
};

struct OptimizerEvent {
  uint64_t begin;
  uint64_t end;
  uint64_t site;
  uint32_t name;  // MarkLog::Name(): the optimizer's class
};

struct ModeEvent {
  uint64_t time;
  bool is_train;
};

// An explicit phase or a checkpoint, from any thread.
struct PhaseEvent {
  uint64_t begin;
  uint64_t end;
  uint32_t name;
  bool is_explicit;
};

// How a loader chooses the examples of a pass.
enum class DataOrder : uint8_t {
  kUnknown,
  kKept,      // in the order of the data set
  kShuffled,  // each once, in another order each time
  kDrawn,     // at random, with replacement
};

// What a DataLoader said about itself when a pass over it began (only with the Python start-up hook).
struct LoaderEvent {
  uint64_t time;
  uint64_t batches;  // 0 = it does not know
  uint64_t batch_size;
  uint64_t examples;
  uint64_t iterator = 0;  // as in FetchEvent
  uint64_t dataset = 0;   // which data set it is; 0 = not known
  DataOrder order = DataOrder::kUnknown;
  uint64_t workers = 0;  // processes that load for it
  uint64_t skipped = 0;  // batches left out at the begin of the pass, by a run that goes on from a checkpoint
};

struct LoopEvents {
  uint32_t stream = 0;         // the thread that trains
  uint32_t other_streams = 0;  // threads besides it that took optimizer steps
  std::vector<FetchEvent> fetches;
  std::vector<BackwardEvent> backwards;
  std::vector<OptimizerEvent> optimizer_steps;
  std::vector<uint64_t> zero_grads;
  std::vector<ModeEvent> modes;
  std::vector<PhaseEvent> phases;
  std::vector<LoaderEvent> loaders;
  std::vector<uint64_t> explicit_steps;
  std::vector<uint64_t> explicit_epochs;
};

LoopEvents CollectLoopEvents(const MarkLog& log, uint64_t end_time);

// The note a loader leaves: "loader batches=332 batch_size=2 examples=663". False when it is another note.
bool ParseLoaderNote(std::string_view note, LoaderEvent* loader);

// How many of the ascending `times` are before `time`.
template <typename Event, typename TimeOf>
size_t CountBefore(const std::vector<Event>& events, uint64_t time, TimeOf time_of) {
  size_t low = 0;
  size_t high = events.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (time_of(events[middle]) < time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// True if one of the events begins in [from, to).
template <typename Event>
bool AnyBeginsIn(const std::vector<Event>& events, uint64_t from, uint64_t to) {
  const auto begin_of = [](const Event& event) { return event.begin; };
  const size_t first = CountBefore(events, from, begin_of);
  return first < events.size() && events[first].begin < to;
}

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_LOOP_EVENTS_H_

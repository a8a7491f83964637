// Sees loops go round in the stacks of one event after the other.
//
// Between two events of a thread, both stacks are followed from the root to the first frame that differs:
//
//   same function, further down in it          the program went on
//   same function, further up, in a loop       that loop went round
//   same function, further up, in no loop      the function was called again: the nearest loop around the call
//   another callee at the same call, one that  something went round, perhaps in C: the nearest loop around it
//     was known before; or no difference         ("soft"; the others are "hard")
//
// A loop that is entered begins a round too, unless a generator or coroutine goes on inside it, further down than
// it was left. What an import does counts nowhere.
//
// Most pairs of stacks come again and again, so what a pair means is remembered: an event costs a look-up.
// Memory is bounded: of a loop with more than kMostTicks rounds only their number is kept. Not thread-safe.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_LOOP_FINDER_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_LOOP_FINDER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/base/zeroed_array.h"
#include "analyzer/series/clock/loops/loop_places.h"

namespace plateau::series {

// Numbers of events, ascending.
struct Ticks {
  std::vector<uint32_t> events;
  bool is_cut = false;  // there were too many

  void Add(uint32_t event, size_t most) {
    if (is_cut) return;
    if (!events.empty() && events.back() == event) return;
    events.push_back(event);
    if (events.size() <= most) return;
    is_cut = true;
    events = {};
  }
};

class LoopFinder {
 public:
  static constexpr size_t kMostTicks = 1 << 20;
  static constexpr size_t kMostAnchors = 1 << 14;  // stacks

  LoopFinder(const replay::Definitions* definitions, const FunctionPaths* paths,
             LoopPlaces::FunctionOf function_of)
      : definitions_(*definitions),
        places_(definitions, paths, std::move(function_of)),
        order_(definitions->nodes.size() + 1) {}

  // An allocation with a canonical stack, which stands for `weight` such. One that stands for itself alone is always
  // recorded. In the order of time.
  void Add(uint32_t stream, uint64_t tsc, uint32_t node, uint64_t bytes, double weight) {
    const uint32_t place = places_.PlaceOf(node);
    if (place == 0 || places_[place].is_import) return;
    ++event_;
    if (tsc != last_tsc_) AddTime(tsc);
    if (place >= at_place_.size()) at_place_.resize(place + 1 + place / 2);
    AtPlace& here = at_place_[place];
    ++here.events;
    here.last = event_;
    if (order_[node] == 0) order_[node] = ++nodes_seen_;
    AddAnchor(uint64_t{place} << 32 | definitions_.nodes[node].location, bytes, weight);
    if (weight > 1) AddSample(uint64_t{place} << 32 | definitions_.nodes[node].location, bytes, weight);
    if (stream >= streams_.size()) streams_.resize(stream + 1 + stream / 2);
    Stream& thread = streams_[stream];
    if (thread.place == 0) AddThread(place);
    if (thread.place == place) {
      if (order_[node] <= order_[thread.node]) AddSoft(places_.LoopAround(place));
    } else {
      Apply(MeaningOf(thread.place, place), &thread);
    }
    thread.place = place;
    thread.node = node;
  }

  const LoopPlaces& places() const { return places_; }
  // By loop: begins of rounds that were seen, and how often it may have gone round besides.
  const std::vector<Ticks>& rounds() const { return rounds_; }
  const std::vector<uint64_t>& softs() const { return softs_; }
  // Allocations that are always recorded, by their place (the upper half of the number) and who asked for the memory there. How
  // the interpreter came to that may differ from round to round.
  struct Anchor {
    Ticks ticks;
    uint64_t least_bytes = UINT64_MAX;
    uint64_t most_bytes = 0;
    bool is_sampled = false;  // it has smaller blocks too, of which some are left out
  };
  const absl::flat_hash_map<uint64_t, Anchor>& anchors() const { return anchors_; }

  // Threads that began with the same functions: a thread for each request goes round like a loop.
  struct Threads {
    uint32_t place = 0;  // of the last function that they share
    Ticks begins;
  };
  const absl::flat_hash_map<uint32_t, Threads>& threads() const { return threads_; }  // by path of functions

  // Sampled requests of one size from one place: as many stand for `weight` of them.
  struct Sampled {
    uint32_t samples = 0;
    double weight = 0;
  };
  static constexpr size_t kMostKinds = 1 << 16;
  // By place (the upper half of the first number), who asked for the memory there, and size.
  const absl::flat_hash_map<std::pair<uint64_t, uint64_t>, Sampled>& sampled() const { return sampled_; }

  struct AtPlace {
    uint64_t events = 0;
    uint32_t last = 0;
  };
  const std::vector<AtPlace>& at_place() const { return at_place_; }
  uint32_t events() const { return event_; }
  // When an event was.
  uint64_t TimeOf(uint32_t event) const;

 private:
  enum class Kind : uint8_t { kNothing, kHard, kSoft };
  struct Border {
    uint32_t loop;
    int64_t offset;  // in the loop's function
  };
  struct Meaning {
    Kind kind = Kind::kNothing;
    uint32_t loop = 0;
    std::vector<Border> left;
    std::vector<Border> entered;
  };
  struct Stream {
    uint32_t place = 0;
    uint32_t node = 0;
    absl::flat_hash_map<uint32_t, int64_t> left_at;  // by loop
  };

  const Meaning& MeaningOf(uint32_t from, uint32_t to);
  Meaning Compare(uint32_t from, uint32_t to) const;
  void Apply(const Meaning& meaning, Stream* thread);
  void AddTime(uint64_t tsc);
  void AddAnchor(uint64_t key, uint64_t bytes, double weight);
  void AddSample(uint64_t key, uint64_t bytes, double weight);
  void AddThread(uint32_t place);
  void AddRound(uint32_t loop);
  void AddSoft(uint32_t loop);

  const replay::Definitions& definitions_;
  LoopPlaces places_;
  ZeroedArray<uint32_t> order_;  // in which nodes were first seen
  uint32_t nodes_seen_ = 0;
  uint32_t event_ = 0;
  uint64_t last_tsc_ = 0;
  std::vector<std::pair<uint32_t, uint64_t>> times_;  // (event, time) from which on it holds
  std::vector<Stream> streams_;
  std::vector<AtPlace> at_place_;
  std::vector<Ticks> rounds_;
  std::vector<uint64_t> softs_;
  absl::flat_hash_map<uint64_t, Anchor> anchors_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, Sampled> sampled_;
  absl::flat_hash_map<uint32_t, Threads> threads_;
  absl::flat_hash_map<uint64_t, Meaning> meanings_;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_LOOP_FINDER_H_

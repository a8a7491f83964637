// The events of a trace in time order, decoded on all cores.
//
//   blocks, by first time stamp:   |b0|b1|b2|b3|b4|b5| ...
//                                    taken ^     ^ decoded ahead by helper threads, at most `look_ahead`
//                                    blocks
//
// Streams (threads of the program) are merged by time stamp. A stamp is a lower bound of the event's time, so
// two events of different streams that are closer than the distance of two stamps may come in the wrong
// order; events of one stream never do. HeapReplay repairs that per address.
//
// Memory: look_ahead blocks plus one or two per stream that is active at that time.
#ifndef PLATEAU_ANALYZER_REPLAY_EVENT_SOURCE_H_
#define PLATEAU_ANALYZER_REPLAY_EVENT_SOURCE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/event_block.h"

namespace plateau::replay {

// Events begin..end of a block: all of one stream, none later than any event of another stream still to come.
struct EventRun {
  const EventBlock* block;
  size_t begin;
  size_t end;

  // No event `index` of this block happened after this time.
  uint64_t LatestTime(size_t index) const;
};

class EventSource {
 public:
  // `threads` 0: as many helpers as the machine has cores to spare, at least one.
  explicit EventSource(const reader::TraceReader& reader, int threads = 0);
  ~EventSource();
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;

  // Calls `take` with every run, in order. Once.
  void ForEachRun(const std::function<void(const EventRun&)>& take);

 private:
  struct Planned {
    uint64_t first_tsc;
    const reader::BlockRef* ref;
    size_t cursor;  // of its stream
  };
  struct Cursor {
    std::deque<std::unique_ptr<EventBlock>> blocks;
    size_t index = 0;
  };

  void Decode();
  std::unique_ptr<EventBlock> Take(size_t i);
  void Recycle(std::unique_ptr<EventBlock> block);

  const reader::TraceReader& reader_;
  std::vector<Planned> plan_;
  std::deque<Cursor> cursors_;
  size_t look_ahead_;

  std::mutex mutex_;
  std::condition_variable decoded_;
  std::condition_variable wanted_;
  std::vector<std::unique_ptr<EventBlock>> ready_;  // by position in plan_
  std::vector<std::unique_ptr<EventBlock>> spare_;
  size_t next_decode_ = 0;
  size_t taken_ = 0;
  bool stop_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_EVENT_SOURCE_H_

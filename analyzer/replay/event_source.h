// The events of a trace in time order, decoded on all cores.
//
//   blocks, by first time stamp:   |b0|b1|b2|b3|b4|b5| ...
//                                    taken ^     ^ decoded ahead, at most `look_ahead` blocks
//
// Who decodes: helper threads, where the machine has cores that the two halves of the replay leave idle;
// those halves themselves whenever one of them would have to wait for the other (DecodeAhead()); and
// ForEachRun() when the block it needs is not ready. So whichever half is the slower, no core waits while
// there is work.
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
#include <utility>
#include <vector>

#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/event_block.h"

namespace plateau::replay {

// Events begin..end of a block: all of one stream, none later than any event of another stream still to come.
struct EventRun {
  const EventBlock* block;
  size_t begin;
  size_t end;
  size_t stamp;  // which of the block's stamps event `begin` has
};

class EventSource {
 public:
  // `threads` 0: as many helpers as the machine has cores beyond the two of the replay, which may be none.
  explicit EventSource(const reader::TraceReader& reader, int threads = 0);
  ~EventSource();
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;

  // Calls `take` with every run, in order. Once.
  void ForEachRun(const std::function<void(const EventRun&)>& take);

  // What is wrong with blocks that the first pass did not read. After ForEachRun().
  reader::ReadSummary damage() const;

  // Decodes a block that will be needed soon. False when there is none. From any thread.
  bool DecodeAhead();

 private:
  struct Planned {
    uint64_t first_tsc;
    const reader::BlockRef* ref;
    size_t cursor;  // of its stream
  };
  struct Cursor {
    std::deque<std::unique_ptr<EventBlock>> blocks;
    size_t index = 0;
    size_t stamp = 0;

    void Begin() {
      index = 0;
      stamp = blocks.front()->first_stamp();
    }
    uint64_t time() const { return blocks.front()->stamps()[stamp].tsc; }
  };

  bool CanDecode() const { return next_decode_ < plan_.size() && next_decode_ < taken_ + look_ahead_; }
  // Decodes the next block. Called with the lock held, which it lets go meanwhile.
  void DecodeNext(std::unique_lock<std::mutex>* lock);
  void Help();
  std::unique_ptr<EventBlock> Take(size_t i);
  void Recycle(std::unique_ptr<EventBlock> block);

  const reader::TraceReader& reader_;
  std::vector<Planned> plan_;
  std::deque<Cursor> cursors_;
  size_t look_ahead_;
  std::vector<std::pair<size_t, reader::ReadSummary>> damage_;  // by position in plan_; few

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

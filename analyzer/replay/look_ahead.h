// Finds the places of the next events of a block in the tables of live objects before they are needed.
//
//   LookAhead ahead(&live, &python);
//   for (event in run) table.Look(event.address, ahead.For(event, block_end));
//
// Events are taken kEvents at a time and gone through three times, each time a step further into the table:
// while one waits for memory, the others are on their way. Hints that are out of date by the time they are
// used cost a second look and nothing else. Each stream has its own events ahead, as runs of several streams
// alternate. Does nothing while both tables are small.
#ifndef PLATEAU_ANALYZER_REPLAY_LOOK_AHEAD_H_
#define PLATEAU_ANALYZER_REPLAY_LOOK_AHEAD_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "analyzer/replay/event_block.h"
#include "analyzer/replay/live_table.h"

namespace plateau::replay {

class LookAhead {
 public:
  // Both must outlive this object.
  LookAhead(LiveTable* live, LiveTable* python) : live_(*live), python_(*python) {}

  bool is_worth_it() const { return live_.is_large() || python_.is_large(); }

  // Of an event of `stream`, whose block ends at `block_end`.
  const LiveTable::Hint& For(const Event* event, const Event* block_end, uint32_t stream) {
    Lot& lot = lots_[stream % lots_.size()];
    if (event < lot.begin || event >= lot.end) [[unlikely]]
      Load(event, block_end, &lot);
    return lot.hints[static_cast<size_t>(event - lot.begin)];
  }

 private:
  static constexpr size_t kEvents = 32;

  struct Lot {
    const Event* begin = nullptr;
    const Event* end = nullptr;
    std::array<LiveTable::Hint, kEvents> hints;
  };

  static bool IsIn(const Event& event) {
    return event.Kind() == trace::RecordKind::kAllocIn || event.Kind() == trace::RecordKind::kFreeIn;
  }
  static bool IsFree(const Event& event) {
    return event.Kind() == trace::RecordKind::kFree || event.Kind() == trace::RecordKind::kFreeIn;
  }
  LiveTable& TableOf(const Event& event) { return IsIn(event) ? python_ : live_; }

  void Load(const Event* event, const Event* block_end, Lot* lot) {
    const auto size = std::min<size_t>(kEvents, static_cast<size_t>(block_end - event));
    lot->begin = event;
    lot->end = event + size;
    for (size_t i = 0; i < size; ++i) TableOf(event[i]).PrefetchPage(event[i].address);
    for (size_t i = 0; i < size; ++i) lot->hints[i] = TableOf(event[i]).PrefetchGroup(event[i].address);
    for (size_t i = 0; i < size; ++i) {
      TableOf(event[i]).PrefetchObject(event[i].address, lot->hints[i], !IsFree(event[i]));
    }
  }

  LiveTable& live_;
  LiveTable& python_;
  std::array<Lot, 4> lots_;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_LOOK_AHEAD_H_

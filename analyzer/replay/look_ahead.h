// Finds the places of the next events of a block in the tables of live objects before they are needed.
//
//   LookAhead ahead(&live, &python);
//   for (event in run) table.Look(event.address, ahead.For(event, block_end, stream));
//
//   | lot in use | next lot  | the one after |      of kEvents events
//     objects      pages       regions
//
// While the events of one lot are matched, memory loads what the next two need. Hints that are out of date by
// the time they are used cost a second look and nothing else. Each stream has its own events ahead, as runs
// of several streams alternate. Not worth it while both tables are small, nor in blocks whose events keep to
// pages that were used a moment before, or to those that follow them: these are in the cache.
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

  bool is_worth_it() const { return is_scattered_ && (live_.is_large() || python_.is_large()); }

  // A block begins, perhaps in the memory of one that is over. Looks at its first events.
  void Begin(const EventBlock& block) {
    Lot& lot = lots_[block.stream() % lots_.size()];
    lot.begin = lot.end = nullptr;
    std::array<uint64_t, 64> recent{};
    const size_t size = std::min<size_t>(block.size(), kSample);
    size_t new_pages = 0;
    for (const Event* e = block.events(); e != block.events() + size; ++e) {
      const uint64_t page = e->address / LiveTable::kPageBytes;
      uint64_t& known = recent[page % recent.size()];
      new_pages += known != page && recent[(page - 1) % recent.size()] != page - 1;
      known = page;
    }
    is_scattered_ = new_pages * kEventsPerWait > size;
  }

  // Of an event of `stream`, whose block ends at `block_end`.
  const LiveTable::Hint& For(const Event* event, const Event* block_end, uint32_t stream) {
    Lot& lot = lots_[stream % lots_.size()];
    if (event < lot.begin || event >= lot.end) [[unlikely]]
      Load(event, block_end, &lot);
    return lot.hints[lot.half][static_cast<size_t>(event - lot.begin)];
  }

 private:
  static constexpr size_t kEvents = 32;
  static constexpr size_t kSample = 1024;  // events of a block that are looked at
  static constexpr size_t kEventsPerWait =
      10;  // to look ahead for so many costs as much as one that has to wait

  using Hints = std::array<LiveTable::Hint, kEvents>;
  struct Lot {
    const Event* begin = nullptr;
    const Event* end = nullptr;  // where the next one begins, whose hints are in the other half
    size_t half = 0;
    std::array<Hints, 2> hints;
  };

  static bool IsIn(const Event& event) {
    return event.Kind() == trace::RecordKind::kAllocIn || event.Kind() == trace::RecordKind::kFreeIn;
  }
  LiveTable& TableOf(const Event& event) { return IsIn(event) ? python_ : live_; }

  void Load(const Event* event, const Event* block_end, Lot* lot) {
    const auto end_of_lot = [block_end](const Event* begin) {
      return begin + std::min<size_t>(kEvents, static_cast<size_t>(block_end - begin));
    };
    const Event* const next = end_of_lot(event);
    const Event* const after = end_of_lot(next);
    const Event* const after_end = end_of_lot(after);
    const bool is_known = event == lot->end;
    lot->half ^= 1;
    Hints& hints = lot->hints[lot->half];
    if (!is_known) FindPages(event, next, &hints);
    for (const Event* e = event; e != next; ++e)
      TableOf(*e).PrefetchObject(e->address, hints[static_cast<size_t>(e - event)]);
    FindPages(next, after, &lot->hints[lot->half ^ 1]);
    for (const Event* e = after; e != after_end; ++e) {
      if (!IsNear(e, after)) TableOf(*e).PrefetchRegion(e->address);
    }
    lot->begin = event;
    lot->end = next;
  }
  void FindPages(const Event* begin, const Event* end, Hints* hints) {
    LiveTable::Hint* hint = hints->data();
    for (const Event* e = begin; e != end; ++e, ++hint) {
      *hint = IsNear(e, begin) ? hint[-1] : TableOf(*e).PrefetchPage(e->address);
    }
  }
  // Whether an event of the lot that starts at `begin` is about the page of the one before it.
  static bool IsNear(const Event* event, const Event* begin) {
    return event != begin && (event[0].address ^ event[-1].address) < LiveTable::kPageBytes &&
           IsIn(event[0]) == IsIn(event[-1]);
  }

  LiveTable& live_;
  LiveTable& python_;
  bool is_scattered_ = true;  // of several streams that of the block which began last
  std::array<Lot, 4> lots_;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_LOOK_AHEAD_H_

// The first half of the replay: finds the object that each event means.
//
// Keeps what is live by address, pairs the halves of a realloc, repairs the order of events of one address
// (see heap_replay.h for the rules) and appends what happened to a ChangeQueue. Knows nothing of sites and
// amounts, so it runs on a thread of its own. Everything it appends follows from the order of the events
// alone.
//
// Memory: live objects and mappings. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_HEAP_MATCHER_H_
#define PLATEAU_ANALYZER_REPLAY_HEAP_MATCHER_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/change_queue.h"
#include "analyzer/replay/definitions.h"
#include "analyzer/replay/event_source.h"
#include "analyzer/replay/heap_replay.h"
#include "analyzer/replay/live_object.h"
#include "analyzer/replay/live_table.h"
#include "analyzer/replay/look_ahead.h"
#include "analyzer/replay/mapping_matcher.h"
#include "analyzer/replay/owed_frees.h"
#include "analyzer/replay/rate_table.h"

namespace plateau::replay {

// What only the matcher can count.
struct MatchTotals {
  uint64_t events = 0;
  uint64_t unknown_frees = 0;
  uint64_t late_frees = 0;    // order repaired
  uint64_t live_objects = 0;  // when what is retained was taken
  uint64_t live_table_bytes = 0;
};

class HeapMatcher {
 public:
  // All must outlive this object. Of the options it uses those about time. By `ahead` another thread may
  // prepare memory for live objects.
  HeapMatcher(const reader::TraceReader& reader, const Definitions* definitions, const ReplayOptions* options,
              ChangeQueue* queue);

  void Match(const EventRun& run);
  // Call once after the last run.
  void Finish();

  const MatchTotals& totals() const { return totals_; }

 private:
  // Bytes of an object that realloc made grow: each with the stack and bucket it was born in, oldest first.
  struct Part {
    uint32_t stack;
    uint32_t birth;
    uint64_t bytes;
  };
  using Parts = std::vector<Part>;

  // An object between the two halves of its realloc.
  struct Limbo {
    bool is_valid = false;
    uint64_t address;
    LiveObject object;
    Parts parts;
  };

  // A live object that a free, met before the object's allocation, may have ended already. When no event of
  // that time can come any more, it did.
  struct Doomed {
    uint64_t latest;  // time of the free
    uint64_t address;
    bool operator>(const Doomed& other) const { return latest > other.latest; }
  };

  // What is born now.
  struct Births {
    uint64_t end_on_top;  // Event::bytes_on_top() of all that are plain is below; 0 before the first one
    uint64_t word;        // of these, but for stack and bytes
    Era era;
  };
  // Appends a birth and writes the object.
  [[gnu::always_inline]] void BeBorn(const Event& event, Births* births, PackedObject* object) {
    if (event.bytes_on_top() < births->end_on_top) [[likely]] {
      const uint64_t word = event.amount() | births->word;
      *object = PackedObject(word);
      out_.AppendWord(word);
    } else {
      BeBornAnew(event, births, object);
    }
  }
  // The same for any event.
  void BeBornAnew(const Event& event, Births* births, PackedObject* object);
  // Appends the end of an object that is_plain().
  [[gnu::always_inline]] void DiePlainly(PackedObject object) {
    out_.AppendWord(object.word() | PackedObject::kDied);
  }
  // For the births from now on, if that is not done.
  void BeginEra(Births* births);
  bool ReuseEras();
  // What a word means that will not be used any more.
  LiveObject TakeOut(PackedObject packed) {
    const LiveObject object = packer_.Unpack(packed);
    packer_.Forget(packed);
    return object;
  }
  // Writes an object over what a word means.
  void Rewrite(PackedObject* packed, const LiveObject& object) {
    packer_.Forget(*packed);
    *packed = packer_.Pack(object);
  }

  // Events begin..end, all of the time now_.
  template <bool kMany>
  void MatchAll(const Event* begin, const Event* end, const Event* block_end);
  template <bool kMany>
  void MatchOne(const Event& event, const LiveTable::Hint& hint);
  // What is not an ordinary allocation or free.
  void MatchOther(const Event& event);
  void Tick(uint64_t tsc);
  // Whether it is an event.
  bool Rare(const trace::Record& record);
  void AppendFolded(const FoldedPart& part);
  void EndFolded();

  // What nearly all events are. With many streams their order may need repair.
  template <bool kMany>
  void Alloc(const Event& event, const LiveTable::Hint& hint);
  template <bool kMany>
  void Free(const Event& event, const LiveTable::Hint& hint);
  PackedObject* MakeRoom(const Event& event);
  void MakeRoomAt(const Event& event, PackedObject object);
  void EndDoomed(uint64_t address, PackedObject object);
  void CheckDoomed(const Event& event, PackedObject* object);
  bool IsDoomed(PackedObject object) const {
    return !object.is_plain() && packer_.Unpack(object).Has(kObjectDoomed);
  }
  // Where the live object is that a free ends; nowhere when the free belongs to another one.
  template <bool kMany>
  [[gnu::always_inline]] LiveTable::Spot FreedObject(const Event& event, const LiveTable::Hint& hint) {
    if (kMany && !late_.empty() && late_.Consume(event.address, block_->stream(), now_)) [[unlikely]]
      return {};
    const LiveTable::Spot spot = live_.Look(event.address, hint);
    if (spot.object == nullptr) [[unlikely]] {
      NoteUnknownFree(event);
    } else if (kMany && IsDoomed(*spot.object)) [[unlikely]] {
      WaitInTurn(event);
    }
    return spot;
  }
  void NoteUnknownFree(const Event& event);
  void WaitInTurn(const Event& event);
  // The same for any number of bytes, in either pool.
  void AllocAnew(const Event& event);
  void AllocInAnew(const Event& event);
  void StartRealloc(const Event& event);
  void FinishRealloc(const Event& event);
  void CancelRealloc();
  void EndLimbo(Limbo* limbo);
  void Resize(const LiveObject& object, uint64_t bytes, uint32_t stack, Parts* parts);

  void AllocIn(const Event& event, const LiveTable::Hint& hint);
  void FreeIn(const Event& event, const LiveTable::Hint& hint);
  // What it asks for, as far as an object can have it.
  uint64_t BytesOf(const Event& event) const {
    return std::min(block_->BytesOf(event), LiveObject::kMostBytes);
  }

  uint64_t LatestTime(const Event& event) const { return block_->LatestTime(event, stamp_); }

  void End(const LiveObject& object, const Parts* parts);
  void EndLive(uint64_t address, PackedObject object);
  void AppendTag(const LiveObject& object, bool is_tensor);
  void Tag(PackedObject* object, bool is_tensor);
  void AppendPlaces(uint32_t moment);
  static uint8_t LabelOf(uint8_t flags) {
    const uint8_t label = flags >> kObjectLabelShift;
    return label == kNoLabel >> kObjectLabelShift ? kNoLabel : label;
  }
  void AppendRetained();
  void AppendRetained(const LiveObject& object, const Parts* parts);
  [[gnu::always_inline]] void Append(ChangeKind kind, Pool pool, uint32_t stack, uint32_t birth,
                                     uint64_t bytes, uint8_t rate) {
    const Change change{stack, birth, static_cast<uint32_t>(bytes), kind, pool, rate, 0};
    if (bytes <= UINT32_MAX) [[likely]]
      return out_.Append(change);
    out_.Append(change, {.bytes = bytes, .object_bytes = 0, .label = 0});
  }

  const Definitions& definitions_;
  const ReplayOptions& options_;
  ChangeWriter out_;
  RateTable rates_;
  MappingMatcher mappings_;
  MatchTotals totals_;
  ObjectPacker packer_;
  bool has_eras_left_ = true;
  bool is_reuse_worth_it_ = true;
  LiveTable live_;
  LiveTable python_;
  LookAhead ahead_{&live_, &python_};
  absl::flat_hash_map<uint64_t, Parts> parts_;  // by address
  std::map<uint32_t, Limbo> limbo_;             // by stream
  OwedFrees late_;                              // still to come: their objects have ended already
  OwedFrees waiting_;                           // came before the allocations they belong to
  std::priority_queue<Doomed, std::vector<Doomed>, std::greater<>> doomed_;
  const bool is_multi_stream_;
  FoldedTotals folded_;
  bool has_retained_ = false;
  uint32_t bucket_ = 0;
  size_t ledger_next_ = 0;
  size_t rate_next_ = 0;
  size_t label_next_ = 0;
  size_t snapshot_next_ = 0;
  uint8_t birth_flags_ = kNoLabel & (0xff << kObjectLabelShift);  // of what is born now
  Births heap_births_ = {};
  Births python_births_ = {};
  uint64_t next_tick_ = 0;
  // Where Match() is.
  const EventBlock* block_ = nullptr;
  size_t stamp_ = 0;
  uint64_t now_ = 0;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_HEAP_MATCHER_H_

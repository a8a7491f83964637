// The first half of the replay: finds the object that each event means.
//
// It keeps what is live by address, pairs the halves of a realloc, repairs the order of events of one address
// (see heap_replay.h for the rules) and appends what happened to a ChangeQueue. It knows nothing of sites and
// amounts, so another thread can account for them. Everything it appends follows from the order of the events
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
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/event_source.h"
#include "analyzer/replay/heap_replay.h"
#include "analyzer/replay/live_object.h"
#include "analyzer/replay/live_table.h"
#include "analyzer/replay/look_ahead.h"
#include "analyzer/replay/mapping_matcher.h"
#include "analyzer/replay/owed_frees.h"
#include "analyzer/replay/rate_table.h"
#include "analyzer/replay/residency_book.h"

namespace plateau::replay {

// Counts that only the matcher can make.
struct MatchTotals {
  uint64_t events = 0;
  uint64_t unknown_frees = 0;
  uint64_t late_frees = 0;     // order repaired
  uint64_t implied_frees = 0;  // of blocks whose address was given out again, and no free came
  uint64_t live_objects = 0;   // when what is retained was taken
  uint64_t live_table_bytes = 0;
};

class HeapMatcher {
 public:
  // All must outlive this object. The matcher uses only the options about time, and whether on_retained and
  // on_snapshot are there.
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

  // What objects that are born now have in common.
  struct Births {
    uint64_t end_on_top;  // Event::bytes_on_top() of every plain object is below this; 0 before the first one
    uint64_t word;        // the word of a plain object, without stack and bytes
    Era era;
  };
  // Appends the birth of an object and writes the object to its place in the table.
  [[gnu::always_inline]] void AppendBirth(const Event& event, Births* births, PackedObject* object) {
    if (event.bytes_on_top() < births->end_on_top) [[likely]] {
      const uint64_t word = event.amount() | births->word;
      *object = PackedObject(word);
      out_.AppendWord(word);
    } else {
      AppendBirthOfAny(event, births, object);
    }
  }
  // The same for an object that may not be plain.
  void AppendBirthOfAny(const Event& event, Births* births, PackedObject* object);
  // Appends the death of an object that is_plain().
  [[gnu::always_inline]] void AppendPlainDeath(PackedObject object) {
    out_.AppendWord(object.word() | PackedObject::kDied);
  }
  // Gives births from now on the number of their era, unless they have it.
  void BeginEra(Births* births);
  bool ReuseEras();
  // The object of a word that will not be used any more.
  LiveObject TakeOut(PackedObject packed) {
    const LiveObject object = packer_.Unpack(packed);
    packer_.Forget(packed);
    return object;
  }
  // Makes a word mean another object.
  void Rewrite(PackedObject* packed, const LiveObject& object) {
    packer_.Forget(*packed);
    *packed = packer_.Pack(object);
  }

  // Matches the events begin..end, which all have the time now_.
  template <bool kMany>
  void MatchAll(const Event* begin, const Event* end, const Event* block_end);
  template <bool kMany>
  void MatchOne(const Event& event, const LiveTable::Hint& hint);
  // Matches whatever is not an ordinary allocation or free.
  void MatchOther(const Event& event);
  void Tick(uint64_t tsc);
  void GoOnTo(uint64_t tsc);
  // Applies a rare record; returns whether it counts as an event.
  bool MatchRare(const trace::Record& record);
  void AppendFolded(const FoldedPart& part);
  void EndFolded();

  // Nearly all events are these. With many streams their order may need repair.
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
  // The place of the live object that a free ends; nowhere when the free belongs to another object.
  template <bool kMany>
  [[gnu::always_inline]] LiveTable::Spot FreedObject(const Event& event, const LiveTable::Hint& hint) {
    if (kMany && !late_.empty() && late_.Consume(event.address, block_->stream(), now_)) [[unlikely]] {
      --totals_.implied_frees;
      return {};
    }
    const LiveTable::Spot spot = live_.Look(event.address, hint);
    if (spot.object == nullptr) [[unlikely]] {
      NoteUnknownFree(event);
    } else if (kMany && IsDoomed(*spot.object)) [[unlikely]] {
      QueueFree(event);
    } else if (kMany && is_uncertain_) [[unlikely]] {
      early_.Add(event.address, block_->stream(), now_, LatestTime(event));
    }
    return spot;
  }
  void NoteUnknownFree(const Event& event);
  void QueueFree(const Event& event);
  // The same for an object of any size, in either pool.
  void AllocOfAnySize(const Event& event);
  void AllocInOfAnySize(const Event& event);
  void BeginRealloc(const Event& event);
  void FinishRealloc(const Event& event);
  void CancelRealloc();
  void EndLimbo(Limbo* limbo);
  void Resize(const LiveObject& object, uint64_t bytes, uint32_t stack, Parts* parts);

  void AllocIn(const Event& event, const LiveTable::Hint& hint);
  void FreeIn(const Event& event, const LiveTable::Hint& hint);
  // The bytes that an event asks for, as far as an object can have them.
  uint64_t BytesOf(const Event& event) const {
    return std::min(block_->BytesOf(event), LiveObject::kMostBytes);
  }

  uint64_t LatestTime(const Event& event) const { return block_->LatestTime(event, stamp_); }

  void End(const LiveObject& object, const Parts* parts);
  void EndLive(uint64_t address, PackedObject object);
  void AppendTag(const LiveObject& object, uint64_t bytes, bool is_tensor);
  void Tag(uint64_t address, PackedObject* object, bool is_tensor);
  void MaybeFollow(uint64_t address, LiveObject* object);
  void Follow(uint64_t address, uint64_t resident_bytes, LiveObject* object);
  void Unfollow(uint64_t address, LiveObject* object);
  uint64_t SizeOf(uint64_t address, const LiveObject& object) const;
  void ApplyResidency(const trace::ResidencyRecord& reading);
  void AppendPlaced(uint32_t moment);
  static uint8_t LabelOf(uint8_t flags) {
    const uint8_t label = flags >> kObjectLabelShift;
    return label == kNoLabel >> kObjectLabelShift ? kNoLabel : label;
  }
  void AppendRetained();
  void AppendRetained(const LiveObject& object, const Parts* parts, uint64_t reserved);
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
  ResidencyBook residency_;
  MappingMatcher mappings_;
  MatchTotals totals_;
  ObjectPacker packer_;
  bool has_eras_left_ = true;
  bool is_reuse_worth_it_ = true;
  LiveTable live_;
  LiveTable python_;
  LookAhead ahead_{&live_, &python_};
  absl::flat_hash_map<uint64_t, Parts> parts_;        // by address
  absl::flat_hash_map<uint64_t, uint64_t> reserved_;  // sizes of the objects that are followed, by address
  std::map<uint32_t, Limbo> limbo_;                   // by stream
  OwedFrees late_;                                    // frees still to come, whose objects have ended already
  OwedFrees waiting_;                                 // frees that came before their allocations
  OwedFrees early_;                                   // frees that ended an object and may be of a later one
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
  // The place that Match() has reached.
  const EventBlock* block_ = nullptr;
  size_t stamp_ = 0;
  uint64_t now_ = 0;
  bool is_uncertain_ = false;  // the thread took so long to its next stamp that it may have slept in between
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_HEAP_MATCHER_H_

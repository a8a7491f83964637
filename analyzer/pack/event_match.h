// The last place where the same events happened, and what followed them there. Programs that loop repeat
// themselves for a long time: one step of a training run is much like the one before.
//
// An event that differs does not end a repetition: the place moves on and must earn trust again. What an
// object of the earlier time was is known by its twin, the object that was born when the place stood at the
// birth of the first.
//
// Memory: 20 bytes for each event.
#ifndef PLATEAU_ANALYZER_PACK_EVENT_MATCH_H_
#define PLATEAU_ANALYZER_PACK_EVENT_MATCH_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/pack/mixed_model.h"
#include "analyzer/pack/object_model.h"
#include "analyzer/pack/packed_record.h"

namespace plateau {

class EventMatch {
 public:
  struct Event {
    uint32_t signature;  // what makes two events the same
    uint32_t object;     // kNoObject: not known
    uint32_t stack;      // of an allocation; of a free, the object freed before it
    PackedKind kind;
  };

  explicit EventMatch(int table_bits) : shift_(64 - table_bits), places_(size_t{1} << table_bits) {}

  // What happened next, or nullptr.
  const Event* predicted() const { return place_ == 0 ? nullptr : &events_[place_]; }
  // 0 to 15: how long it was right.
  uint32_t Trust() const {
    return length_ < 8 ? length_
                       : std::min<uint32_t>(5 + static_cast<uint32_t>(std::bit_width(length_)) - 1, 15);
  }
  bool IsSure() const { return length_ >= kSure; }
  // The object that now plays the part of an object of the earlier time, alive or not, or kNoObject.
  uint32_t TwinOf(uint32_t object) const { return object < twins_.size() ? twins_[object] : kNoObject; }

  void Advance(const Event& event) {
    if (place_ != 0) {
      const Event& expected = events_[place_];
      if (event.kind == expected.kind && IsAlloc(event.kind)) SetTwin(expected.object, event.object);
      const bool is_right = expected.signature == event.signature;
      length_ = is_right ? std::min(length_ + 1, kLongest) : 0;
      misses_ = misses_ << 1 | (is_right ? 0 : 1);
      place_ = std::popcount(misses_) > kMostMisses ? 0 : place_ + 1;
    }
    if (events_.empty()) events_.emplace_back();  // place 0 is none
    events_.push_back(event);
    tail_ = tail_ * kTailFactor + event.signature * 0x9e3779b97f4a7c15u;
    // One tail in four is looked up and kept, always the same ones: that is found soon enough.
    if (const uint64_t hash = tail_ * 0xc2b2ae3d27d4eb4fu; (hash >> 40 & 3) == 0) {
      Place& known = places_[hash >> shift_];
      const uint32_t tag = static_cast<uint32_t>(hash >> 8);
      if (length_ < kShortest && known.tag == tag && known.place != 0 && known.place != place_)
        TryPlace(known.place);
      known = {static_cast<uint32_t>(events_.size()), tag};
    }
    if (place_ >= events_.size()) place_ = 0;
  }

 private:
  // A tail is of 16 events: each multiplication shifts by 4 bits.
  static constexpr uint64_t kTailFactor = 0x2545f4914f6cdd1du << 4;
  static constexpr uint32_t kSure = 400;
  static constexpr uint32_t kShortest = 16;
  static constexpr uint32_t kLongest = 1 << 16;
  static constexpr int kMostMisses = 12;  // of 32

  static bool IsAlloc(PackedKind kind) { return kind == PackedKind::kAlloc || kind == PackedKind::kAllocIn; }
  void SetTwin(uint32_t object, uint32_t twin) {
    if (object >= twins_.size()) twins_.resize(std::max<size_t>(object + 1, 2 * twins_.size()), kNoObject);
    twins_[object] = twin;
  }
  // Takes a place when more events before it are the same than at the place we have.
  void TryPlace(uint32_t place) {
    uint32_t length = 0;
    while (length < 2 * kShortest && length + 1 < place &&
           events_[place - 1 - length].signature == events_[events_.size() - 1 - length].signature) {
      ++length;
    }
    if (length < kShortest || length <= length_) return;
    place_ = place;
    length_ = length;
    misses_ = 0;
  }

  struct Place {
    uint32_t place = 0;
    uint32_t tag = 0;  // more of the tail's hash
  };

  int shift_;
  std::vector<Place> places_;  // behind a tail
  std::vector<Event> events_;
  std::vector<uint32_t> twins_;  // by object of the earlier time
  uint64_t tail_ = 0;
  uint32_t place_ = 0;
  uint32_t length_ = 0;
  uint32_t misses_ = 0;  // of the last events, 1 bit each
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_EVENT_MATCH_H_

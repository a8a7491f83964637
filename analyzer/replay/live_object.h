// Objects that are allocated at this moment, and how they lie in the tables of them.
//
// Nearly all are small, of one piece and of no special kind: a word of 8 bytes holds one, with a number for
// what all objects share that are born in one pool and bucket under the same label and rate, their era. Any
// other is kept as it is, and its word says where.
//
//   plain   | stack (26) | era (19) | 1 | died | bytes (17) |
//   kept    | place + 1             | 0 |           0       |
//   none    0
//
// An Event has stack and bytes in the same places, so it becomes an object by its era. And the word of a
// plain object tells the second half of the replay what was born or died (change_queue.h).
#ifndef PLATEAU_ANALYZER_REPLAY_LIVE_OBJECT_H_
#define PLATEAU_ANALYZER_REPLAY_LIVE_OBJECT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/replay/definitions/pool.h"

namespace plateau::replay {

enum ObjectFlags : uint8_t {
  kObjectTensor = 1,    // a torch tensor's storage
  kObjectParts = 2,     // grown by realloc: its bytes have several births, see HeapMatcher
  kObjectDoomed = 4,    // a free that came too early may be its own, see HeapMatcher
  kObjectFollowed = 8,  // its bytes are those in memory, see ResidencyBook
};
inline constexpr int kObjectLabelShift = 4;  // the upper four bits: label at its birth, 15 for none

// Does not know its address.
struct LiveObject {
  static constexpr uint64_t kMostBytes = (uint64_t{1} << 44) - 1;  // that are counted of one

  uint64_t bytes = 0;
  uint32_t stack = 0;  // node of the trace
  uint32_t birth = 0;  // bucket of the clock
  uint8_t rate = 0;    // which it was recorded at
  uint8_t flags = 0;
  Pool pool = Pool::kHeap;

  bool Has(ObjectFlags flag) const { return (flags & flag) != 0; }
};

class PackedObject {
 public:
  static constexpr int kStackBits = 26, kBytesBits = 17, kEraBits = 19;
  static constexpr int kEraShift = kBytesBits + 2;
  static constexpr int kStackShift = kEraShift + kEraBits;
  static_assert(kStackShift + kStackBits == 64);
  static constexpr uint64_t kDied = uint64_t{1} << kBytesBits;

  PackedObject() = default;  // none
  explicit PackedObject(uint64_t word) : word_(word) {}
  static PackedObject Plain(uint64_t era, uint64_t bytes, uint32_t stack) {
    return PackedObject(uint64_t{stack} << kStackShift | WordOfEra(era) | bytes);
  }
  static PackedObject Kept(size_t place) { return PackedObject((uint64_t{place} + 1) << kEraShift); }
  // What all words of an era have in common.
  static constexpr uint64_t WordOfEra(uint64_t era) { return era << kEraShift | kPlain; }

  uint64_t word() const { return word_; }
  bool is_none() const { return word_ == 0; }
  bool is_plain() const { return (word_ & kPlain) != 0; }

  // Of a plain one.
  uint32_t era() const { return static_cast<uint32_t>(word_ >> kEraShift) & ((1 << kEraBits) - 1); }
  uint32_t bytes() const { return static_cast<uint32_t>(word_) & ((1 << kBytesBits) - 1); }
  uint32_t stack() const { return static_cast<uint32_t>(word_ >> kStackShift); }
  // Never of one in a table.
  bool has_died() const { return (word_ & kDied) != 0; }
  // Of one that is kept.
  size_t place() const { return (word_ >> kEraShift) - 1; }

 private:
  static constexpr uint64_t kPlain = kDied << 1;

  uint64_t word_ = 0;
};
static_assert(sizeof(PackedObject) == 8);

// What objects share. Flags are those of their births, without special ones.
struct Era {
  uint32_t birth = 0;
  uint8_t rate = 0;
  uint8_t flags = 0;
  Pool pool = Pool::kHeap;
};

// Packs objects and knows what their words mean. Memory: eras, and objects that are kept. Not thread-safe.
class ObjectPacker {
 public:
  // `on_era` is told what the number of an era means before the first word has it, again when the number was
  // used again.
  explicit ObjectPacker(std::function<void(uint32_t number, const Era&)> on_era)
      : on_era_(std::move(on_era)) {}

  // The number of an era; none when there are no numbers left. Pack() of an object of the era is
  // PackedObject::Plain() if bytes and stack fit.
  std::optional<uint32_t> NumberOf(const Era& era);
  // Gives up the numbers of eras that are not `used`, by number: nothing that is packed may be of them.
  void ReuseEras(const std::vector<bool>& used);
  size_t era_count() const { return eras_.size(); }

  // Must be given to Forget() when it ends, unless it is plain.
  PackedObject Pack(const LiveObject& object);
  void Forget(PackedObject object) {
    if (!object.is_plain()) free_.push_back(static_cast<uint32_t>(object.place()));
  }

  LiveObject Unpack(PackedObject object) const {
    if (!object.is_plain()) return kept_[object.place()];
    const Era& era = eras_[object.era()];
    return {object.bytes(), object.stack(), era.birth, era.rate, era.flags, era.pool};
  }

  size_t capacity_bytes() const {
    return kept_.capacity() * sizeof(LiveObject) + free_.capacity() * sizeof(uint32_t) +
           eras_.capacity() * sizeof(Era) + numbers_.capacity() * (sizeof(*numbers_.begin()) + 1);
  }

 private:
  std::function<void(uint32_t number, const Era&)> on_era_;
  std::vector<Era> eras_;
  std::vector<uint32_t> free_eras_;
  absl::flat_hash_map<uint64_t, uint32_t> numbers_;  // of eras, by all that makes one
  std::vector<LiveObject> kept_;
  std::vector<uint32_t> free_;  // places of kept_
};

inline std::optional<uint32_t> ObjectPacker::NumberOf(const Era& era) {
  constexpr size_t kMostEras = size_t{1} << PackedObject::kEraBits;
  const uint64_t key = uint64_t{era.birth} << 32 | uint64_t{static_cast<uint8_t>(era.pool)} << 16 |
                       uint64_t{era.rate} << 8 | era.flags;
  if (const auto it = numbers_.find(key); it != numbers_.end()) return it->second;
  if (free_eras_.empty()) {
    if (eras_.size() == kMostEras) return std::nullopt;
    free_eras_.push_back(static_cast<uint32_t>(eras_.size()));
    eras_.emplace_back();
  }
  const uint32_t number = free_eras_.back();
  free_eras_.pop_back();
  eras_[number] = era;
  numbers_.emplace(key, number);
  on_era_(number, era);
  return number;
}

inline void ObjectPacker::ReuseEras(const std::vector<bool>& used) {
  absl::erase_if(numbers_, [&](const auto& key_and_number) {
    const uint32_t number = key_and_number.second;
    if (used[number]) return false;
    free_eras_.push_back(number);
    return true;
  });
  std::sort(free_eras_.begin(), free_eras_.end(), std::greater<>());  // the same ones in each run
}

inline PackedObject ObjectPacker::Pack(const LiveObject& object) {
  constexpr uint8_t kSpecial = kObjectTensor | kObjectParts | kObjectDoomed | kObjectFollowed;
  const bool fits =
      object.bytes >> PackedObject::kBytesBits == 0 && object.stack >> PackedObject::kStackBits == 0;
  if ((object.flags & kSpecial) == 0 && fits) {
    const auto era = NumberOf({object.birth, object.rate, object.flags, object.pool});
    if (era.has_value()) return PackedObject::Plain(*era, object.bytes, object.stack);
  }
  if (free_.empty()) {
    kept_.push_back(object);
    return PackedObject::Kept(kept_.size() - 1);
  }
  const uint32_t place = free_.back();
  free_.pop_back();
  kept_[place] = object;
  return PackedObject::Kept(place);
}

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_LIVE_OBJECT_H_

// Objects that are allocated at this moment, and how they lie in the tables of them.
//
// Nearly all are small, of one piece and of no special kind: a word of 8 bytes holds one, with a number for
// what all objects share that are born in the same bucket under the same label and rate, their era. Any other
// is kept as it is, and its word says where.
//
//   plain   | era (19) | bytes (18) | stack (26) | 1 |
//   kept    | place + 1                          | 0 |
//   none    0
#ifndef PLATEAU_ANALYZER_REPLAY_LIVE_OBJECT_H_
#define PLATEAU_ANALYZER_REPLAY_LIVE_OBJECT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace plateau::replay {

enum ObjectFlags : uint8_t {
  kObjectTensor = 1,  // a torch tensor's storage
  kObjectParts = 2,   // grown by realloc: its bytes have several births, see HeapMatcher
  kObjectDoomed = 4,  // a free that came too early may be its own, see HeapMatcher
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

  bool Has(ObjectFlags flag) const { return (flags & flag) != 0; }
};

class PackedObject {
 public:
  static constexpr int kStackBits = 26, kBytesBits = 18, kEraBits = 19;

  PackedObject() = default;  // none
  static PackedObject Plain(uint64_t era, uint64_t bytes, uint32_t stack) {
    return PackedObject(era << kEraShift | bytes << kBytesShift | uint64_t{stack} << 1 | 1);
  }
  static PackedObject Kept(size_t place) { return PackedObject((uint64_t{place} + 1) << 1); }

  bool is_none() const { return word_ == 0; }
  bool is_plain() const { return (word_ & 1) != 0; }

  // Of a plain one.
  uint64_t era() const { return word_ >> kEraShift; }
  uint64_t bytes() const { return word_ >> kBytesShift & ((uint64_t{1} << kBytesBits) - 1); }
  uint32_t stack() const { return static_cast<uint32_t>(word_ >> 1) & ((uint32_t{1} << kStackBits) - 1); }
  // Of one that is kept.
  size_t place() const { return (word_ >> 1) - 1; }

 private:
  static constexpr int kBytesShift = 1 + kStackBits;
  static constexpr int kEraShift = kBytesShift + kBytesBits;
  static_assert(kEraShift + kEraBits == 64);

  explicit PackedObject(uint64_t word) : word_(word) {}

  uint64_t word_ = 0;
};
static_assert(sizeof(PackedObject) == 8);

// Packs objects and knows what their words mean. Memory: eras, and objects that are kept. Not thread-safe.
class ObjectPacker {
 public:
  // What objects share, in the places that a Change has for it.
  struct Era {
    uint64_t birth_word;  // birth in the upper half
    uint64_t rate_word;   // rate from bit kRateShift on
  };
  static constexpr int kRateShift = 48;

  // Room for objects that are born together: Pack() of any that is smaller than `bytes_end` and Fits() is
  // PackedObject::Plain() with `era`.
  struct Births {
    uint64_t era = 0;
    uint64_t bytes_end = 0;  // 0: there are no numbers left for eras
  };
  Births BirthsOf(uint32_t birth, uint8_t rate, uint8_t flags);
  // Gives up the numbers of eras that are not `used`, by number: nothing that is packed may be of them.
  void ReuseEras(const std::vector<bool>& used);
  size_t era_count() const { return eras_.size(); }
  static bool Fits(uint32_t stack) { return stack >> PackedObject::kStackBits == 0; }

  // Must be given to Forget() when it ends, unless it is plain.
  PackedObject Pack(const LiveObject& object);
  void Forget(PackedObject object) {
    if (!object.is_plain()) free_.push_back(static_cast<uint32_t>(object.place()));
  }

  LiveObject Unpack(PackedObject object) const {
    if (!object.is_plain()) return kept_[object.place()];
    const Era& era = eras_[object.era()];
    return {object.bytes(), object.stack(), static_cast<uint32_t>(era.birth_word >> 32),
            static_cast<uint8_t>(era.rate_word >> kRateShift), flags_[object.era()]};
  }
  const Era& EraOf(PackedObject plain) const { return eras_[plain.era()]; }

  size_t capacity_bytes() const {
    return kept_.capacity() * sizeof(LiveObject) + free_.capacity() * sizeof(uint32_t) +
           eras_.capacity() * (sizeof(Era) + 1) + numbers_.capacity() * (sizeof(*numbers_.begin()) + 1);
  }

 private:
  std::vector<Era> eras_;
  std::vector<uint8_t> flags_;  // of eras
  std::vector<uint32_t> free_eras_;
  absl::flat_hash_map<uint64_t, uint32_t> numbers_;  // of eras, by all that makes one
  std::vector<LiveObject> kept_;
  std::vector<uint32_t> free_;  // places of kept_
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_LIVE_OBJECT_H_

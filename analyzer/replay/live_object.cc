#include "analyzer/replay/live_object.h"

#include <algorithm>
#include <functional>

namespace plateau::replay {

std::optional<uint32_t> ObjectPacker::NumberOf(const Era& era) {
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

void ObjectPacker::ReuseEras(const std::vector<bool>& used) {
  absl::erase_if(numbers_, [&](const auto& key_and_number) {
    const uint32_t number = key_and_number.second;
    if (used[number]) return false;
    free_eras_.push_back(number);
    return true;
  });
  std::sort(free_eras_.begin(), free_eras_.end(), std::greater<>());  // the same ones in each run
}

PackedObject ObjectPacker::Pack(const LiveObject& object) {
  constexpr uint8_t kSpecial = kObjectTensor | kObjectParts | kObjectDoomed;
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

#include "analyzer/replay/live_object.h"

#include <algorithm>
#include <functional>

namespace plateau::replay {

ObjectPacker::Births ObjectPacker::BirthsOf(uint32_t birth, uint8_t rate, uint8_t flags) {
  constexpr size_t kMostEras = size_t{1} << PackedObject::kEraBits;
  constexpr uint64_t kBytesEnd = uint64_t{1} << PackedObject::kBytesBits;
  const uint64_t key = uint64_t{birth} << 16 | uint64_t{rate} << 8 | flags;
  if (const auto it = numbers_.find(key); it != numbers_.end()) return {it->second, kBytesEnd};
  if (free_eras_.empty()) {
    if (eras_.size() == kMostEras) return {};
    free_eras_.push_back(static_cast<uint32_t>(eras_.size()));
    eras_.emplace_back();
    flags_.emplace_back();
  }
  const uint32_t number = free_eras_.back();
  free_eras_.pop_back();
  eras_[number] = {uint64_t{birth} << 32, uint64_t{rate} << kRateShift};
  flags_[number] = flags;
  numbers_.emplace(key, number);
  return {number, kBytesEnd};
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
  if ((object.flags & kSpecial) == 0 && Fits(object.stack)) {
    const Births births = BirthsOf(object.birth, object.rate, object.flags);
    if (object.bytes < births.bytes_end) return PackedObject::Plain(births.era, object.bytes, object.stack);
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

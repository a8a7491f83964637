#include "analyzer/replay/live_object.h"

namespace plateau::replay {

ObjectPacker::Births ObjectPacker::BirthsOf(uint32_t birth, uint8_t rate, uint8_t flags) {
  const uint64_t key = uint64_t{birth} << 16 | uint64_t{rate} << 8 | flags;
  const auto [it, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(eras_.size()));
  if (is_new) {
    if (eras_.size() == size_t{1} << PackedObject::kEraBits) {
      numbers_.erase(it);
      return {};
    }
    eras_.push_back({uint64_t{birth} << 32, uint64_t{rate} << kRateShift});
    flags_.push_back(flags);
  }
  return {it->second, uint64_t{1} << PackedObject::kBytesBits};
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

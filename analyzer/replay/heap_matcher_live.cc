// What is alive at a moment, as the matcher tells it.
#include "analyzer/replay/heap_matcher.h"

namespace plateau::replay {

// Appends everything live, where it lies.
void HeapMatcher::AppendPlaces(uint32_t moment) {
  if (!options_.on_snapshot) return;
  const auto append = [&](uint64_t address, PackedObject packed) {
    const LiveObject object = packer_.Unpack(packed);
    out_.Append({object.stack, moment, 0, ChangeKind::kPlaced, object.pool, object.rate, 0},
                {.bytes = object.bytes, .address = address, .label = 0});
  };
  live_.ForEach(append);
  python_.ForEach(append);
  mappings_.AppendPlaces(moment);
}

// Appends what is live. Once: what comes later is teardown.
void HeapMatcher::AppendRetained() {
  if (has_retained_) return;
  has_retained_ = true;
  totals_.live_objects = live_.size() + python_.size();
  totals_.live_table_bytes = live_.capacity_bytes() + python_.capacity_bytes() + packer_.capacity_bytes();
  if (!options_.on_retained) return;
  out_.Append({.bytes = 1, .kind = ChangeKind::kListing});
  for (const auto& [stream, limbo] : limbo_) {  // between the halves of a realloc, or killed there
    if (limbo.is_valid) {
      AppendRetained(limbo.object, limbo.parts.empty() ? nullptr : &limbo.parts);
    }
  }
  const auto append = [this](uint64_t address, PackedObject packed) {
    if (packed.is_plain()) return out_.AppendWord(packed.word());
    const LiveObject object = packer_.Unpack(packed);
    AppendRetained(object, object.Has(kObjectParts) ? &parts_.find(address)->second : nullptr);
  };
  live_.ForEach(append);
  python_.ForEach(append);
  mappings_.AppendRetained();
  out_.Append({.bytes = 0, .kind = ChangeKind::kListing});
}

void HeapMatcher::AppendRetained(const LiveObject& object, const Parts* parts) {
  Change change{object.stack,
                object.birth,
                0,
                ChangeKind::kRetained,
                object.pool,
                object.rate,
                object.Has(kObjectTensor) ? uint8_t{kChangeTensor} : uint8_t{0}};
  ChangeDetail detail{.bytes = object.bytes, .object_bytes = object.bytes, .label = LabelOf(object.flags)};
  if (parts == nullptr) return out_.Append(change, detail);
  change.rate = kNotSampled;
  for (const Part& part : *parts) {
    detail.bytes = part.bytes;
    change.stack = part.stack;
    change.birth = part.birth;
    out_.Append(change, detail);
    change.flags |= kChangePiece;
  }
}

}  // namespace plateau::replay

// What is alive at a moment, as the matcher tells it.
#include "analyzer/replay/heap_matcher.h"

namespace plateau::replay {

// Appends everything live, where it lies.
void HeapMatcher::AppendPlaces(uint32_t moment) {
  if (!options_.on_snapshot) return;
  const auto append = [&](const LiveObject& object, Pool pool) {
    Change change{.bytes = object.bytes,
                  .stack = object.stack,
                  .birth = moment,
                  .kind = ChangeKind::kPlaced,
                  .pool = pool,
                  .rate = static_cast<uint8_t>(object.rate),
                  .flags = 0,
                  .label = 0};
    change.address = object.address;
    out_.Append(change);
  };
  live_.ForEach([&](const LiveObject& object) { append(object, Pool::kHeap); });
  python_.ForEach([&](const LiveObject& object) { append(object, Pool::kPython); });
  mappings_.AppendPlaces(moment);
}

// Appends what is live. Once: what comes later is teardown.
void HeapMatcher::AppendRetained() {
  if (has_retained_) return;
  has_retained_ = true;
  totals_.live_objects = live_.size() + python_.size();
  totals_.live_table_bytes = live_.capacity_bytes() + python_.capacity_bytes();
  if (!options_.on_retained) return;
  for (const auto& [stream, limbo] : limbo_) {  // between the halves of a realloc, or killed there
    if (limbo.is_valid) {
      AppendRetained(limbo.object, Pool::kHeap, limbo.parts.empty() ? nullptr : &limbo.parts);
    }
  }
  live_.ForEach([this](const LiveObject& object) {
    AppendRetained(object, Pool::kHeap,
                   object.flags & kObjectParts ? &parts_.find(object.address)->second : nullptr);
  });
  python_.ForEach([this](const LiveObject& object) { AppendRetained(object, Pool::kPython, nullptr); });
  mappings_.AppendRetained();
}

void HeapMatcher::AppendRetained(const LiveObject& object, Pool pool, const Parts* parts) {
  const uint8_t bits = static_cast<uint8_t>(object.flags >> kObjectLabelShift);
  Change change{.bytes = object.bytes,
                .object_bytes = object.bytes,
                .stack = object.stack,
                .birth = object.birth,
                .kind = ChangeKind::kRetained,
                .pool = pool,
                .rate = static_cast<uint8_t>(object.rate),
                .flags = object.flags & kObjectTensor ? uint8_t{kChangeTensor} : uint8_t{0},
                .label = bits == kNoLabel >> kObjectLabelShift ? kNoLabel : bits};
  if (parts == nullptr) return out_.Append(change);
  change.rate = kNotSampled;
  for (const Part& part : *parts) {
    change.bytes = part.bytes;
    change.stack = part.stack;
    change.birth = part.birth;
    out_.Append(change);
    change.flags |= kChangePiece;
  }
}

}  // namespace plateau::replay

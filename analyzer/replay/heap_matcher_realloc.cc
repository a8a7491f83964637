// Realloc in the matcher: two events that are one object, which may have several births.
#include <algorithm>
#include <utility>

#include "analyzer/replay/heap_matcher.h"

namespace plateau::replay {

void HeapMatcher::StartRealloc(const EventRun& run, size_t i) {
  Limbo& limbo = limbo_[run.block->stream];
  EndLimbo(&limbo);
  LiveObject* object = FreedObject(run, i);
  if (object == nullptr) return;
  limbo.is_valid = true;
  limbo.object = *object;
  limbo.parts.clear();
  if (object->flags & kObjectParts) {
    const auto it = parts_.find(object->address);
    limbo.parts = std::move(it->second);
    parts_.erase(it);
  }
  live_.Erase(object);
}

// A realloc whose second half never came (lost, or damage): the object is gone.
void HeapMatcher::EndLimbo(Limbo* limbo) {
  if (!limbo->is_valid) return;
  limbo->is_valid = false;
  End(limbo->object, Pool::kHeap, limbo->parts.empty() ? nullptr : &limbo->parts);
}

void HeapMatcher::CancelRealloc(uint32_t stream) {
  Limbo& limbo = limbo_[stream];
  if (!limbo.is_valid) return;
  const LiveTable::Place place = live_.FindOrAdd(limbo.object.address);
  if (!place.is_new) return EndLimbo(&limbo);
  limbo.is_valid = false;
  *place.object = limbo.object;
  if (!limbo.parts.empty()) parts_[limbo.object.address] = std::move(limbo.parts);
}

void HeapMatcher::FinishRealloc(const EventRun& run, size_t i) {
  const Event& e = run.block->events[i];
  Limbo& limbo = limbo_[run.block->stream];
  const bool is_exact =
      limbo.is_valid &&
      rates_.Probability(static_cast<uint8_t>(limbo.object.rate), limbo.object.bytes) == 1 &&
      rates_.Probability(rates_.current(), e.bytes) == 1;
  if (!is_exact || (e.address & LiveTable::kAddressMask) == 0) {
    EndLimbo(&limbo);
    return Alloc(run, i);
  }
  limbo.is_valid = false;
  LiveObject object = limbo.object;
  Parts parts = std::move(limbo.parts);
  limbo.parts.clear();
  if (parts.empty()) parts.push_back({object.stack, object.birth, object.bytes});
  Resize(object, e, &parts);
  LiveObject* const place = MakeRoom(run, i);
  const bool has_parts = parts.size() > 1;
  object.address = e.address;
  object.bytes = e.bytes;
  object.rate = rates_.current();
  object.flags = (object.flags & ~uint64_t{kObjectParts | kObjectDoomed}) | (has_parts ? kObjectParts : 0);
  Place(run, i, object, place);
  if (has_parts) parts_[object.address] = std::move(parts);
}

// Growth is born now; shrinking ends the youngest bytes.
void HeapMatcher::Resize(const LiveObject& object, const Event& to, Parts* parts) {
  if (to.bytes > object.bytes) {
    const uint64_t growth = to.bytes - object.bytes;
    Append(ChangeKind::kGrown, Pool::kHeap, to.stack, bucket_, growth, kNotSampled);
    Part& youngest = parts->back();
    if (youngest.birth == bucket_ &&
        definitions_.Canonical(youngest.stack) == definitions_.Canonical(to.stack)) {
      youngest.bytes += growth;
    } else {
      parts->push_back({to.stack, bucket_, growth});
    }
    return;
  }
  for (uint64_t excess = object.bytes - to.bytes; excess > 0;) {
    Part& youngest = parts->back();
    const uint64_t cut = std::min(excess, youngest.bytes);
    Append(ChangeKind::kShrunk, Pool::kHeap, youngest.stack, youngest.birth, cut, kNotSampled);
    youngest.bytes -= cut;
    excess -= cut;
    if (youngest.bytes == 0 && parts->size() > 1) parts->pop_back();
  }
}

}  // namespace plateau::replay

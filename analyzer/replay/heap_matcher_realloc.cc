// Realloc in the matcher: two events that are one object, which may have several births.
#include <algorithm>
#include <utility>

#include "analyzer/replay/heap_matcher.h"

namespace plateau::replay {

void HeapMatcher::StartRealloc(const Event& e) {
  Limbo& limbo = limbo_[block_->stream()];
  EndLimbo(&limbo);
  const LiveTable::Spot spot = is_multi_stream_ ? FreedObject<true>(e, {}) : FreedObject<false>(e, {});
  if (spot.object == nullptr) return;
  limbo.is_valid = true;
  limbo.address = e.address;
  limbo.object = TakeOut(*spot.object);
  limbo.parts.clear();
  if (limbo.object.Has(kObjectParts)) {
    const auto it = parts_.find(e.address);
    limbo.parts = std::move(it->second);
    parts_.erase(it);
  }
  live_.Erase(spot);
}

// A realloc whose second half never came (lost, or damage): the object is gone.
void HeapMatcher::EndLimbo(Limbo* limbo) {
  if (!limbo->is_valid) return;
  limbo->is_valid = false;
  End(limbo->object, limbo->parts.empty() ? nullptr : &limbo->parts);
}

void HeapMatcher::CancelRealloc() {
  Limbo& limbo = limbo_[block_->stream()];
  if (!limbo.is_valid) return;
  const LiveTable::Place place = live_.FindOrAdd(limbo.address);
  if (!place.is_new) return EndLimbo(&limbo);
  limbo.is_valid = false;
  *place.object = packer_.Pack(limbo.object);
  if (!limbo.parts.empty()) parts_[limbo.address] = std::move(limbo.parts);
}

void HeapMatcher::FinishRealloc(const Event& e) {
  const uint64_t bytes = BytesOf(e);
  Limbo& limbo = limbo_[block_->stream()];
  const bool is_exact = limbo.is_valid && rates_.Probability(limbo.object.rate, limbo.object.bytes) == 1 &&
                        rates_.Probability(rates_.current(), bytes) == 1;
  if (!is_exact || e.address == 0) {
    EndLimbo(&limbo);
    return AllocAnew(e);
  }
  limbo.is_valid = false;
  const LiveObject object = limbo.object;
  Parts& parts = limbo.parts;  // in place: most have one, and the memory for it is there
  if (parts.empty()) parts.push_back({object.stack, object.birth, object.bytes});
  Resize(object, bytes, block_->StackOf(e), &parts);
  PackedObject* const place = MakeRoom(e);
  const bool has_parts = parts.size() > 1;
  const auto kept = static_cast<uint8_t>(object.flags & ~(kObjectParts | kObjectDoomed));
  const uint8_t flags = has_parts ? kept | kObjectParts : kept;
  *place = packer_.Pack({bytes, object.stack, object.birth, rates_.current(), flags, object.pool});
  CheckDoomed(e, place);
  if (has_parts) parts_[e.address] = std::move(parts);
  parts.clear();
}

// Growth is born now; shrinking ends the youngest bytes.
void HeapMatcher::Resize(const LiveObject& object, uint64_t bytes, uint32_t stack, Parts* parts) {
  if (bytes > object.bytes) {
    const uint64_t growth = bytes - object.bytes;
    Append(ChangeKind::kGrown, Pool::kHeap, stack, bucket_, growth, kNotSampled);
    Part& youngest = parts->back();
    if (youngest.birth == bucket_ &&
        definitions_.Canonical(youngest.stack) == definitions_.Canonical(stack)) {
      youngest.bytes += growth;
    } else {
      parts->push_back({stack, bucket_, growth});
    }
    return;
  }
  for (uint64_t excess = object.bytes - bytes; excess > 0;) {
    Part& youngest = parts->back();
    const uint64_t cut = std::min(excess, youngest.bytes);
    Append(ChangeKind::kShrunk, Pool::kHeap, youngest.stack, youngest.birth, cut, kNotSampled);
    youngest.bytes -= cut;
    excess -= cut;
    if (youngest.bytes == 0 && parts->size() > 1) parts->pop_back();
  }
}

}  // namespace plateau::replay

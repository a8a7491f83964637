#include "analyzer/replay/heap_matcher.h"

#include <algorithm>
#include <utility>

namespace plateau::replay {
namespace {

using trace::RecordKind;

// Ticks between two stamps of a thread from which on it is taken to have slept: some tenths of a millisecond.
constexpr uint64_t kSleptTicks = 1 << 20;

constexpr uint64_t Number(RecordKind kind) { return static_cast<uint64_t>(kind); }

}  // namespace

HeapMatcher::HeapMatcher(const reader::TraceReader& reader, const Definitions* definitions,
                         const ReplayOptions* options, ChangeQueue* queue)
    : definitions_(*definitions),
      options_(*options),
      out_(queue),
      rates_(reader.header()),
      residency_(&definitions->residency),
      mappings_(definitions, &residency_, &out_),
      packer_([this](uint32_t number, const Era& era) {
        out_.Append({LabelOf(era.flags), era.birth, number, ChangeKind::kEra, era.pool, era.rate, 0});
      }),
      is_multi_stream_(reader.streams().size() > 1),
      folded_(options->bucket_ends.size()) {
  Tick(0);
}

// ---- Objects ----

void HeapMatcher::AppendBirthOfAny(const Event& e, Births* births, PackedObject* object) {
  *object = PackedObject();  // so that ReuseEras() finds nothing there meanwhile
  BeginEra(births);
  const Era& era = births->era;
  LiveObject born{BytesOf(e), block_->StackOf(e), era.birth, era.rate, era.flags, era.pool};
  MaybeFollow(e.address, &born);
  *object = packer_.Pack(born);
  if (object->is_plain()) return out_.AppendWord(object->word());
  Append(ChangeKind::kBorn, born.pool, born.stack, born.birth, born.bytes, born.rate);
}

// ---- Residency: of a large block, the bytes in memory count ----

// Makes an object that is about to be born one that is followed, if there are readings of it.
void HeapMatcher::MaybeFollow(uint64_t address, LiveObject* object) {
  if (residency_.empty() || object->pool != Pool::kHeap) return;
  const uint64_t in_memory = residency_.FirstOfBlock(address, object->bytes, now_);
  if (in_memory == object->bytes || rates_.Probability(object->rate, object->bytes) != 1) return;
  Follow(address, in_memory, object);
}

void HeapMatcher::Follow(uint64_t address, uint64_t resident_bytes, LiveObject* object) {
  reserved_[address] = object->bytes;
  Append(ChangeKind::kPoolGrew, Pool::kUntouched, 0, bucket_, object->bytes - resident_bytes, kNotSampled);
  object->bytes = resident_bytes;
  object->rate = kNotSampled;
  object->flags |= kObjectFollowed;
}

// Before its end.
void HeapMatcher::Unfollow(uint64_t address, LiveObject* object) {
  if (!object->Has(kObjectFollowed)) return;
  const auto it = reserved_.find(address);
  Append(ChangeKind::kPoolShrank, Pool::kUntouched, 0, bucket_, it->second - object->bytes, kNotSampled);
  reserved_.erase(it);
  object->flags &= static_cast<uint8_t>(~kObjectFollowed);
}

// The size of an object.
uint64_t HeapMatcher::SizeOf(uint64_t address, const LiveObject& object) const {
  return object.Has(kObjectFollowed) ? reserved_.find(address)->second : object.bytes;
}

void HeapMatcher::ApplyResidency(const trace::ResidencyRecord& reading) {
  if (reading.kind == trace::RegionKind::kMap) return mappings_.ApplyResidency(reading, bucket_);
  PackedObject* const place = live_.Find(reading.address);
  if (place == nullptr) return;
  LiveObject object = packer_.Unpack(*place);
  // In exact mode the shim does not know when a block is freed: the place may be another's by now.
  if (SizeOf(reading.address, object) != reading.bytes || object.pool != Pool::kHeap) return;
  if (!object.Has(kObjectFollowed)) {
    if (rates_.Probability(object.rate, object.bytes) != 1) return;
    Follow(reading.address, object.bytes, &object);
  }
  const uint64_t resident = std::min(reading.resident_bytes, reading.bytes);
  Parts parts;
  if (object.Has(kObjectParts)) parts = std::move(parts_.find(reading.address)->second);
  if (parts.empty()) parts.push_back({object.stack, object.birth, object.bytes});
  const uint64_t before = object.bytes;
  Resize(object, resident, object.stack, &parts);
  const bool grows = resident > before;
  Append(grows ? ChangeKind::kPoolShrank : ChangeKind::kPoolGrew, Pool::kUntouched, 0, bucket_,
         grows ? resident - before : before - resident, kNotSampled);
  object.bytes = resident;
  object.flags &= static_cast<uint8_t>(~kObjectParts);
  if (parts.size() > 1) {
    object.flags |= kObjectParts;
    parts_[reading.address] = std::move(parts);
  } else {
    parts_.erase(reading.address);
  }
  Rewrite(place, object);
}

void HeapMatcher::End(const LiveObject& object, const Parts* parts) {
  if (parts == nullptr) {
    Append(ChangeKind::kDied, object.pool, object.stack, object.birth, object.bytes, object.rate);
    return;
  }
  ChangeKind kind = ChangeKind::kDied;
  for (const Part& part : *parts) {
    Append(kind, object.pool, part.stack, part.birth, part.bytes, kNotSampled);
    kind = ChangeKind::kPieceDied;
  }
}

// Ends an object that is in the table; the caller reuses or erases its place.
void HeapMatcher::EndLive(uint64_t address, PackedObject packed) {
  LiveObject object = TakeOut(packed);
  if (object.Has(kObjectTensor)) AppendTag(object, SizeOf(address, object), false);
  Unfollow(address, &object);
  if (object.Has(kObjectParts)) {
    const auto it = parts_.find(address);
    End(object, &it->second);
    parts_.erase(it);
  } else {
    End(object, nullptr);
  }
}

void HeapMatcher::AppendTag(const LiveObject& object, uint64_t bytes, bool is_tensor) {
  Append(is_tensor ? ChangeKind::kTagged : ChangeKind::kUntagged, Pool::kHeap, object.stack, object.birth,
         bytes, object.rate);
}

void HeapMatcher::Tag(uint64_t address, PackedObject* packed, bool is_tensor) {
  LiveObject object = packer_.Unpack(*packed);
  if (object.Has(kObjectTensor) == is_tensor) return;
  object.flags ^= kObjectTensor;
  Rewrite(packed, object);
  AppendTag(object, SizeOf(address, object), is_tensor);
}

// The place for an object that is about to be allocated; whatever lived there has ended.
PackedObject* HeapMatcher::MakeRoom(const Event& e) {
  return live_.PlaceFor(e.address, {}, [&](PackedObject old) { MakeRoomAt(e, old); });
}

void HeapMatcher::MakeRoomAt(const Event& e, PackedObject object) {
  if (IsDoomed(object) && waiting_.TakeBefore(e.address, UINT64_MAX)) return EndDoomed(e.address, object);
  ++totals_.late_frees;
  ++totals_.implied_frees;
  EndLive(e.address, object);
  if (is_multi_stream_) late_.Add(e.address, block_->stream(), now_, LatestTime(e));
}

// Ends an object by a free that came too early and was counted as unknown.
void HeapMatcher::EndDoomed(uint64_t address, PackedObject object) {
  --totals_.unknown_frees;
  ++totals_.late_frees;
  EndLive(address, object);
}

// A free that came too early may be that of the object which was just allocated.
void HeapMatcher::CheckDoomed(const Event& e, PackedObject* object) {
  if (!is_multi_stream_) return;
  const auto latest = waiting_.GoodUntil(e.address, block_->stream(), now_);
  if (!latest.has_value()) return;
  LiveObject doomed = packer_.Unpack(*object);
  doomed.flags |= kObjectDoomed;
  Rewrite(object, doomed);
  doomed_.push({*latest, e.address});
  next_tick_ = std::min(next_tick_, *latest + 1);
}

template <bool kMany>
[[gnu::always_inline]] inline void HeapMatcher::Alloc(const Event& e, const LiveTable::Hint& hint) {
  if (e.address == 0) return;
  PackedObject* const object = live_.PlaceFor(e.address, hint, [&](PackedObject old) { MakeRoomAt(e, old); });
  AppendBirth(e, &heap_births_, object);
  if (kMany && !waiting_.empty()) [[unlikely]]
    CheckDoomed(e, object);
}

void HeapMatcher::AllocOfAnySize(const Event& e) {
  if (e.address == 0) return;
  PackedObject* const object = MakeRoom(e);
  AppendBirthOfAny(e, &heap_births_, object);
  CheckDoomed(e, object);
}

void HeapMatcher::NoteUnknownFree(const Event& e) {
  ++totals_.unknown_frees;
  if (!is_multi_stream_) return;
  OwedFrees::Owed waits{LatestTime(e), block_->stream()};
  // Of two frees for one object the one that may be later belongs to a later object, and waits for it.
  if (!early_.empty()) {
    if (const auto later = early_.TakeLater(e.address, waits.stream, waits.latest)) waits = *later;
  }
  waiting_.Add(e.address, waits.stream, now_, waits.latest);
}

// A free of an object that may be doomed: the one that waited ends it, this one may still find a later one.
void HeapMatcher::QueueFree(const Event& e) {
  if (!waiting_.TakeBefore(e.address, LatestTime(e))) return;
  waiting_.Add(e.address, block_->stream(), now_, LatestTime(e));
}

template <bool kMany>
[[gnu::always_inline]] inline void HeapMatcher::Free(const Event& e, const LiveTable::Hint& hint) {
  const LiveTable::Spot spot = FreedObject<kMany>(e, hint);
  if (spot.object == nullptr) [[unlikely]]
    return;
  if (spot.object->is_plain()) [[likely]] {
    AppendPlainDeath(*spot.object);
  } else {
    EndLive(e.address, *spot.object);
  }
  live_.Erase(spot);
}

// ---- pymalloc ----

[[gnu::always_inline]] inline void HeapMatcher::AllocIn(const Event& e, const LiveTable::Hint& hint) {
  if (e.address == 0) return;
  PackedObject* const object =
      python_.PlaceFor(e.address, hint, [&](PackedObject old) { End(TakeOut(old), nullptr); });
  AppendBirth(e, &python_births_, object);
}

void HeapMatcher::AllocInOfAnySize(const Event& e) {
  if (e.address == 0) return;
  PackedObject* const object =
      python_.PlaceFor(e.address, {}, [&](PackedObject old) { End(TakeOut(old), nullptr); });
  AppendBirthOfAny(e, &python_births_, object);
}

[[gnu::always_inline]] inline void HeapMatcher::FreeIn(const Event& e, const LiveTable::Hint& hint) {
  const LiveTable::Spot spot = python_.Look(e.address, hint);
  if (spot.object == nullptr) {
    ++totals_.unknown_frees;
    return;
  }
  if (spot.object->is_plain()) [[likely]] {
    AppendPlainDeath(*spot.object);
  } else {
    End(TakeOut(*spot.object), nullptr);
  }
  python_.Erase(spot);
}

// ---- Realloc: two events that are one object, which may have several births ----

void HeapMatcher::BeginRealloc(const Event& e) {
  Limbo& limbo = limbo_[block_->stream()];
  EndLimbo(&limbo);
  const LiveTable::Spot spot = is_multi_stream_ ? FreedObject<true>(e, {}) : FreedObject<false>(e, {});
  if (spot.object == nullptr) return;
  limbo.is_valid = true;
  limbo.address = e.address;
  limbo.object = TakeOut(*spot.object);
  Unfollow(e.address, &limbo.object);
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
    return AllocOfAnySize(e);
  }
  limbo.is_valid = false;
  const LiveObject object = limbo.object;
  Parts& parts = limbo.parts;  // in place: most have one, and the memory for it is there
  if (parts.empty()) parts.push_back({object.stack, object.birth, object.bytes});
  const uint64_t in_memory = residency_.FirstOfBlock(e.address, bytes, now_);
  Resize(object, in_memory, block_->StackOf(e), &parts);
  PackedObject* const place = MakeRoom(e);
  const bool has_parts = parts.size() > 1;
  const auto kept = static_cast<uint8_t>(object.flags & ~(kObjectParts | kObjectDoomed));
  const uint8_t flags = has_parts ? kept | kObjectParts : kept;
  LiveObject resized{bytes, object.stack, object.birth, rates_.current(), flags, object.pool};
  if (in_memory < bytes) Follow(e.address, in_memory, &resized);
  *place = packer_.Pack(resized);
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

// ---- Events ----

void HeapMatcher::Match(const EventRun& run) {
  block_ = run.block;
  stamp_ = run.stamp;
  if (run.begin == 0) ahead_.Begin(*block_);
  const std::vector<Stamp>& stamps = block_->stamps();
  const Event* const events = block_->events();
  for (size_t i = run.begin; i < run.end; ++stamp_) {
    now_ = stamps[stamp_].tsc;
    const size_t end = stamp_ + 1 < stamps.size() ? std::min(stamps[stamp_ + 1].event, run.end) : run.end;
    if (is_multi_stream_) {
      is_uncertain_ = block_->TimeAfter(stamp_) - now_ > kSleptTicks;
      MatchAll<true>(events + i, events + end, events + block_->size());
    } else {
      MatchAll<false>(events + i, events + end, events + block_->size());
    }
    i = end;
  }
}

// All events have the same time, so it is looked at once.
template <bool kMany>
void HeapMatcher::MatchAll(const Event* begin, const Event* end, const Event* block_end) {
  if (now_ >= next_tick_) Tick(now_);
  totals_.events += static_cast<size_t>(end - begin);  // MatchOther() subtracts records that are no events
  if (ahead_.is_worth_it()) {
    for (const Event* event = begin; event != end; ++event) {
      MatchOne<kMany>(*event, ahead_.For(event, block_end, block_->stream()));
    }
  } else {
    for (const Event* event = begin; event != end; ++event) MatchOne<kMany>(*event, LiveTable::Hint());
  }
}

template <bool kMany>
[[gnu::always_inline]] inline void HeapMatcher::MatchOne(const Event& e, const LiveTable::Hint& hint) {
  const uint64_t kind = e.KindAndFlags();
  if (kind == Number(RecordKind::kAlloc)) {
    Alloc<kMany>(e, hint);
  } else if (kind == Number(RecordKind::kFree)) {
    Free<kMany>(e, hint);
  } else if (kind == Number(RecordKind::kAllocIn)) {
    AllocIn(e, hint);
  } else if (kind == Number(RecordKind::kFreeIn)) {
    FreeIn(e, hint);
  } else {
    MatchOther(e);
  }
}

void HeapMatcher::MatchOther(const Event& e) {
  switch (e.Kind()) {
    case RecordKind::kAlloc:
      e.flags& kEventRealloc ? FinishRealloc(e) : AllocOfAnySize(e);
      break;
    case RecordKind::kAllocIn:
      AllocInOfAnySize(e);
      break;
    case RecordKind::kFree:
      BeginRealloc(e);
      break;
    case RecordKind::kReallocCancel:
      --totals_.events;
      CancelRealloc();
      break;
    case RecordKind::kTensor:
    case RecordKind::kTensorGone:
      --totals_.events;
      if (PackedObject* object = live_.Find(e.address))
        Tag(e.address, object, e.Kind() == RecordKind::kTensor);
      break;
    default:
      if (!(e.flags & kEventRare) || !MatchRare(block_->RecordOf(e))) --totals_.events;
  }
}

}  // namespace plateau::replay

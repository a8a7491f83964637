#include "analyzer/replay/heap_matcher.h"

#include <algorithm>
#include <utility>

namespace plateau::replay {
namespace {

using trace::RecordKind;

constexpr uint64_t Number(RecordKind kind) { return static_cast<uint64_t>(kind); }

}  // namespace

HeapMatcher::HeapMatcher(const reader::TraceReader& reader, const Definitions* definitions,
                         const ReplayOptions* options, ChangeQueue* queue)
    : definitions_(*definitions),
      options_(*options),
      out_(queue),
      rates_(reader.header()),
      mappings_(definitions, &out_),
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
  const LiveObject born{BytesOf(e), block_->StackOf(e), era.birth, era.rate, era.flags, era.pool};
  *object = packer_.Pack(born);
  if (object->is_plain()) return out_.AppendWord(object->word());
  Append(ChangeKind::kBorn, born.pool, born.stack, born.birth, born.bytes, born.rate);
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
  const LiveObject object = TakeOut(packed);
  if (object.Has(kObjectTensor)) AppendTag(object, false);
  if (object.Has(kObjectParts)) {
    const auto it = parts_.find(address);
    End(object, &it->second);
    parts_.erase(it);
  } else {
    End(object, nullptr);
  }
}

void HeapMatcher::AppendTag(const LiveObject& object, bool is_tensor) {
  Append(is_tensor ? ChangeKind::kTagged : ChangeKind::kUntagged, Pool::kHeap, object.stack, object.birth,
         object.bytes, object.rate);
}

void HeapMatcher::Tag(PackedObject* packed, bool is_tensor) {
  LiveObject object = packer_.Unpack(*packed);
  if (object.Has(kObjectTensor) == is_tensor) return;
  object.flags ^= kObjectTensor;
  Rewrite(packed, object);
  AppendTag(object, is_tensor);
}

// The place for an object that is about to be allocated; whatever lived there has ended.
PackedObject* HeapMatcher::MakeRoom(const Event& e) {
  return live_.PlaceFor(e.address, {}, [&](PackedObject old) { MakeRoomAt(e, old); });
}

void HeapMatcher::MakeRoomAt(const Event& e, PackedObject object) {
  if (IsDoomed(object) && waiting_.TakeBefore(e.address, UINT64_MAX)) return EndDoomed(e.address, object);
  ++totals_.late_frees;
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
  if (is_multi_stream_) waiting_.Add(e.address, block_->stream(), now_, LatestTime(e));
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
      if (PackedObject* object = live_.Find(e.address)) Tag(object, e.Kind() == RecordKind::kTensor);
      break;
    default:
      if (!(e.flags & kEventRare) || !MatchRare(block_->RecordOf(e))) --totals_.events;
  }
}

// ---- Time ----

// Ends what is doomed, notes what is over before `tsc`, and tells the accounts.
void HeapMatcher::Tick(uint64_t tsc) {
  while (!doomed_.empty() && tsc > doomed_.top().latest) {
    const Doomed next = doomed_.top();
    doomed_.pop();
    const LiveTable::Spot spot = live_.Look(next.address);
    const bool is_doomed = spot.object != nullptr && IsDoomed(*spot.object);
    if (!is_doomed || !waiting_.Take(next.address, next.latest)) continue;
    EndDoomed(next.address, *spot.object);
    live_.Erase(spot);
  }
  bool is_over = false;
  while (bucket_ < options_.bucket_ends.size() && tsc >= options_.bucket_ends[bucket_]) {
    if (bucket_ == options_.last_bucket) EndFolded();
    is_over |= bucket_++ == options_.last_bucket;
  }
  while (ledger_next_ < definitions_.ledger.size() && tsc >= definitions_.ledger[ledger_next_].tsc) {
    ++ledger_next_;
  }
  const size_t first_snapshot = snapshot_next_;
  while (snapshot_next_ < options_.snapshot_times.size() && tsc >= options_.snapshot_times[snapshot_next_]) {
    ++snapshot_next_;
  }
  while (rate_next_ < definitions_.rates.size() && tsc >= definitions_.rates[rate_next_].tsc) {
    const trace::RateRecord& rate = definitions_.rates[rate_next_++].rate;
    rates_.Add(rate);
    if (rate.mode == trace::Mode::kFolded) folded_.Begin(bucket_);
  }
  while (label_next_ < options_.labels.size() && tsc >= options_.labels[label_next_].begin) {
    birth_flags_ = static_cast<uint8_t>(options_.labels[label_next_++].label << kObjectLabelShift);
  }
  heap_births_ = {0, 0, {bucket_, rates_.current(), birth_flags_, Pool::kHeap}};
  python_births_ = {0, 0, {bucket_, rates_.python(), birth_flags_, Pool::kPython}};
  out_.Append({0, 0, 0, ChangeKind::kTick, Pool::kHeap, 0, 0}, {.time = tsc, .object_bytes = 0, .label = 0});
  if (is_over) AppendRetained();
  for (size_t i = first_snapshot; i < snapshot_next_; ++i) AppendPlaced(static_cast<uint32_t>(i));

  next_tick_ = doomed_.empty() ? UINT64_MAX : doomed_.top().latest + 1;
  const auto next = [this](uint64_t time) { next_tick_ = std::min(next_tick_, time); };
  if (label_next_ < options_.labels.size()) next(options_.labels[label_next_].begin);
  if (bucket_ < options_.bucket_ends.size()) next(options_.bucket_ends[bucket_]);
  if (ledger_next_ < definitions_.ledger.size()) next(definitions_.ledger[ledger_next_].tsc);
  if (snapshot_next_ < options_.snapshot_times.size()) next(options_.snapshot_times[snapshot_next_]);
  if (rate_next_ < definitions_.rates.size()) next(definitions_.rates[rate_next_].tsc);
}

void HeapMatcher::BeginEra(Births* births) {
  if (births->end_on_top != 0 || !has_eras_left_) return;
  std::optional<uint32_t> number = packer_.NumberOf(births->era);
  if (!number.has_value()) {
    if (is_reuse_worth_it_) is_reuse_worth_it_ = ReuseEras();
    number = packer_.NumberOf(births->era);
  }
  has_eras_left_ = number.has_value();
  if (!has_eras_left_) return;
  births->end_on_top = uint64_t{1} << (PackedObject::kBytesBits + PackedObject::kStackBits);
  births->word = PackedObject::WordOfEra(*number);
}

// Gives up the numbers of all eras of which no object is left, after many steps. False when these are few.
bool HeapMatcher::ReuseEras() {
  std::vector<bool> used(packer_.era_count());
  for (const LiveTable* table : {&live_, &python_}) {
    table->ForEach([&used](uint64_t, PackedObject object) {
      if (object.is_plain()) used[object.era()] = true;
    });
  }
  for (const Births& births : {heap_births_, python_births_}) {
    if (births.end_on_top != 0) used[PackedObject(births.word).era()] = true;
  }
  packer_.ReuseEras(used);
  return 8 * static_cast<size_t>(std::count(used.begin(), used.end(), false)) >= used.size();
}

void HeapMatcher::Finish() {
  Tick(UINT64_MAX - 1);
  EndFolded();
  AppendRetained();
  out_.Close();
}

// ---- The rest ----

bool HeapMatcher::MatchRare(const trace::Record& r) {
  if (mappings_.Apply(r, bucket_)) return true;
  if (r.kind == RecordKind::kDevice) {
    ChangeBatch* batch = out_.Room();
    DeviceChange& device =
        batch->devices.emplace_back(DeviceChange{r.device, r.tsc, std::string(r.device.api)});
    device.record.api = device.api;
    Append(ChangeKind::kDevice, Pool::kHeap, 0, bucket_, batch->devices.size() - 1, kNotSampled);
    return true;
  }
  if (r.kind == RecordKind::kFoldTotals) {
    folded_.Add(r.fold_totals, bucket_, [this](const FoldedPart& part) { AppendFolded(part); });
  } else if (r.kind == RecordKind::kFoldRow) {
    folded_.KeepForEnd(r.fold_totals);
  }
  return false;
}

void HeapMatcher::AppendFolded(const FoldedPart& part) {
  ChangeBatch* batch = out_.Room();
  batch->folds.push_back(part);
  Append(ChangeKind::kFold, Pool::kHeap, 0, bucket_, batch->folds.size() - 1, kNotSampled);
}

void HeapMatcher::EndFolded() {
  folded_.End(bucket_, [this](const FoldedPart& part) { AppendFolded(part); });
}

// ---- What is alive at a moment ----

// Appends everything live, where it lies.
void HeapMatcher::AppendPlaced(uint32_t moment) {
  if (!options_.on_snapshot) return;
  const auto append = [&](uint64_t address, PackedObject packed) {
    const LiveObject object = packer_.Unpack(packed);
    out_.Append({object.stack, moment, 0, ChangeKind::kPlaced, object.pool, object.rate, 0},
                {.bytes = object.bytes, .address = address, .label = 0});
  };
  live_.ForEach(append);
  python_.ForEach(append);
  mappings_.AppendPlaced(moment);
}

// Appends what is live, the first time it is called: what comes later is teardown.
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

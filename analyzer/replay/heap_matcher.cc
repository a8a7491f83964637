#include "analyzer/replay/heap_matcher.h"

#include <algorithm>
#include <new>
#include <utility>

namespace plateau::replay {
namespace {

using trace::RecordKind;

// How many events ahead the parts of the place of an address are loaded.
constexpr size_t kPageDistance = 24;
constexpr size_t kGroupDistance = 14;
constexpr size_t kObjectDistance = 6;

}  // namespace

HeapMatcher::HeapMatcher(const reader::TraceReader& reader, const Definitions* definitions,
                         const ReplayOptions* options, ChangeQueue* queue)
    : definitions_(*definitions),
      options_(*options),
      out_(queue),
      rates_(reader.header()),
      mappings_(definitions, &out_),
      is_multi_stream_(reader.streams().size() > 1) {
  Tick(0);
}

// ---- Objects ----

void HeapMatcher::End(const LiveObject& object, Pool pool, const Parts* parts) {
  if (parts == nullptr) {
    Append(ChangeKind::kDied, pool, object.stack, object.birth, object.bytes, object.rate());
    return;
  }
  ChangeKind kind = ChangeKind::kDied;
  for (const Part& part : *parts) {
    Append(kind, pool, part.stack, part.birth, part.bytes, kNotSampled);
    kind = ChangeKind::kPieceDied;
  }
}

// Ends an object that is in the table; its place is the caller's to reuse or erase.
void HeapMatcher::EndLive(LiveObject* object) {
  if (object->Has(kObjectTensor)) Tag(object, false);
  if (object->Has(kObjectParts)) {
    const auto it = parts_.find(object->address());
    End(*object, Pool::kHeap, &it->second);
    parts_.erase(it);
  } else {
    End(*object, Pool::kHeap, nullptr);
  }
}

void HeapMatcher::Tag(LiveObject* object, bool is_tensor) {
  if (object->Has(kObjectTensor) == is_tensor) return;
  object->Flip(kObjectTensor);
  Append(is_tensor ? ChangeKind::kTagged : ChangeKind::kUntagged, Pool::kHeap, object->stack, object->birth,
         object->bytes, object->rate());
}

// The place for an object that is about to be allocated; whatever lived there has ended.
LiveObject* HeapMatcher::MakeRoom(const Event& e) {
  const LiveTable::Place place = live_.FindOrAdd(e.address);
  if (!place.is_new) MakeRoomAt(e, place.object);
  return place.object;
}

void HeapMatcher::MakeRoomAt(const Event& e, LiveObject* object) {
  if (object->Has(kObjectDoomed) && waiting_.TakeBefore(e.address, UINT64_MAX)) return EndDoomed(object);
  ++totals_.late_frees;
  EndLive(object);
  if (is_multi_stream_) late_.Add(e.address, block_->stream(), now_, LatestTime(e));
}

// By a free that came too early and was counted as unknown.
void HeapMatcher::EndDoomed(LiveObject* object) {
  --totals_.unknown_frees;
  ++totals_.late_frees;
  EndLive(object);
}

// A free that came too early may be that of the object which was just allocated.
void HeapMatcher::CheckDoomed(const Event& e, LiveObject* object) {
  if (!is_multi_stream_) return;
  const auto latest = waiting_.GoodUntil(e.address, block_->stream(), now_);
  if (!latest.has_value()) return;
  if (!object->Has(kObjectDoomed)) object->Flip(kObjectDoomed);
  doomed_.push({*latest, e.address});
  next_tick_ = std::min(next_tick_, *latest + 1);
}

template <bool kMany>
inline void HeapMatcher::Alloc(const Event& e) {
  if (e.address == 0) return;
  const LiveTable::Place place = live_.FindOrAdd(e.address);
  if (!place.is_new) [[unlikely]]
    MakeRoomAt(e, place.object);
  const uint64_t bytes = block_->BytesOf(e);
  Append(ChangeKind::kBorn, Pool::kHeap, e.stack, bucket_, bytes, rates_.current());
  // In place: an object that is copied there from the stack is waited for.
  new (place.object) LiveObject(e.address, rates_.current(), birth_flags_, bytes, e.stack, bucket_);
  if constexpr (kMany) CheckDoomed(e, place.object);
}

void HeapMatcher::AllocAnew(const Event& e) { is_multi_stream_ ? Alloc<true>(e) : Alloc<false>(e); }

// Where the live object is that a free ends; nowhere when the free belongs to another one.
LiveTable::Spot HeapMatcher::FreedObject(const Event& e) {
  if (is_multi_stream_ && late_.Consume(e.address, block_->stream(), now_)) return {};
  const LiveTable::Spot spot = live_.Look(e.address);
  if (spot.object == nullptr) {
    ++totals_.unknown_frees;
    if (is_multi_stream_) waiting_.Add(e.address, block_->stream(), now_, LatestTime(e));
  } else if (spot.object->Has(kObjectDoomed) && waiting_.TakeBefore(e.address, LatestTime(e))) {
    // The one that waited ends the object, this one may still find a later one.
    waiting_.Add(e.address, block_->stream(), now_, LatestTime(e));
  }
  return spot;
}

template <bool kMany>
inline void HeapMatcher::Free(const Event& e) {
  const LiveTable::Spot spot = kMany ? FreedObject(e) : live_.Look(e.address);
  if (spot.object == nullptr) [[unlikely]] {
    if (!kMany) ++totals_.unknown_frees;
    return;
  }
  const LiveObject& object = *spot.object;
  if (object.Has(kObjectTensor | kObjectParts)) [[unlikely]] {
    EndLive(spot.object);
  } else {
    Append(ChangeKind::kDied, Pool::kHeap, object.stack, object.birth, object.bytes, object.rate());
  }
  live_.Erase(spot);
}

// ---- Events ----

void HeapMatcher::Match(const EventRun& run) {
  block_ = run.block;
  stamp_ = run.stamp;
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

template <bool kMany>
void HeapMatcher::MatchAll(const Event* begin, const Event* end, const Event* block_end) {
  const bool is_large = live_.is_large() || python_.is_large();
  for (const Event* event = begin; event != end; ++event) {
    if (is_large && static_cast<size_t>(block_end - event) > kPageDistance) Prefetch(event);
    const Event& e = *event;
    if (now_ >= next_tick_) Tick(now_);
    if (e.flags & kEventRealloc) [[unlikely]] {
      MatchOther(e);
    } else if (e.Kind() == RecordKind::kAlloc) {
      ++totals_.events;
      Alloc<kMany>(e);
    } else if (e.Kind() == RecordKind::kFree) {
      ++totals_.events;
      Free<kMany>(e);
    } else {
      MatchOther(e);
    }
  }
}

void HeapMatcher::MatchOther(const Event& e) {
  switch (e.Kind()) {
    case RecordKind::kAlloc:
      ++totals_.events;
      FinishRealloc(e);
      break;
    case RecordKind::kFree:
      ++totals_.events;
      StartRealloc(e);
      break;
    case RecordKind::kReallocCancel:
      CancelRealloc();
      break;
    case RecordKind::kTensor:
    case RecordKind::kTensorGone:
      if (LiveObject* object = live_.Find(e.address)) Tag(object, e.Kind() == RecordKind::kTensor);
      break;
    case RecordKind::kAllocIn:
      ++totals_.events;
      AllocIn(e);
      break;
    case RecordKind::kFreeIn:
      ++totals_.events;
      FreeIn(e);
      break;
    default:
      if (e.flags & kEventRare) Rare(block_->RecordOf(e));
  }
}

void HeapMatcher::Prefetch(const Event* event) {
  const auto table = [this](const Event& e) -> const LiveTable& {
    return e.Kind() == RecordKind::kAllocIn || e.Kind() == RecordKind::kFreeIn ? python_ : live_;
  };
  const Event &page = event[kPageDistance], &group = event[kGroupDistance], &object = event[kObjectDistance];
  table(page).PrefetchPage(page.address);
  table(group).PrefetchGroup(group.address);
  const bool is_free = object.Kind() == RecordKind::kFree || object.Kind() == RecordKind::kFreeIn;
  if (is_free) table(object).PrefetchObject(object.address);
}

// ---- Time ----

// Ends what is doomed, notes what is over before `tsc`, and tells the accounts.
void HeapMatcher::Tick(uint64_t tsc) {
  while (!doomed_.empty() && tsc > doomed_.top().latest) {
    const Doomed next = doomed_.top();
    doomed_.pop();
    LiveObject* object = live_.Find(next.address);
    const bool is_doomed = object != nullptr && object->Has(kObjectDoomed);
    if (!is_doomed || !waiting_.Take(next.address, next.latest)) continue;
    EndDoomed(object);
    live_.Erase(object);
  }
  bool is_over = false;
  while (bucket_ < options_.bucket_ends.size() && tsc >= options_.bucket_ends[bucket_]) {
    if (bucket_ == options_.last_bucket) FoldRows();
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
    if (rate.mode == trace::Mode::kFolded) folded_from_ = bucket_;
  }
  while (label_next_ < options_.labels.size() && tsc >= options_.labels[label_next_].begin) {
    birth_flags_ = static_cast<uint8_t>(options_.labels[label_next_++].label << kObjectLabelShift);
  }
  out_.Append({0, 0, 0, ChangeKind::kTick, Pool::kHeap, 0, 0}, {.time = tsc, .object_bytes = 0, .label = 0});
  if (is_over) AppendRetained();
  for (size_t i = first_snapshot; i < snapshot_next_; ++i) AppendPlaces(static_cast<uint32_t>(i));

  next_tick_ = doomed_.empty() ? UINT64_MAX : doomed_.top().latest + 1;
  const auto next = [this](uint64_t time) { next_tick_ = std::min(next_tick_, time); };
  if (label_next_ < options_.labels.size()) next(options_.labels[label_next_].begin);
  if (bucket_ < options_.bucket_ends.size()) next(options_.bucket_ends[bucket_]);
  if (ledger_next_ < definitions_.ledger.size()) next(definitions_.ledger[ledger_next_].tsc);
  if (snapshot_next_ < options_.snapshot_times.size()) next(options_.snapshot_times[snapshot_next_]);
  if (rate_next_ < definitions_.rates.size()) next(definitions_.rates[rate_next_].tsc);
}

void HeapMatcher::Finish() {
  Tick(UINT64_MAX - 1);
  FoldRows();
  AppendRetained();
  out_.Close();
}

// ---- pymalloc ----

void HeapMatcher::AllocIn(const Event& e) {
  if (e.address == 0) return;
  const LiveTable::Place place = python_.FindOrAdd(e.address);
  if (!place.is_new) End(*place.object, Pool::kPython, nullptr);
  const uint64_t bytes = block_->BytesOf(e);
  Append(ChangeKind::kBorn, Pool::kPython, e.stack, bucket_, bytes, rates_.current());
  new (place.object) LiveObject(e.address, rates_.current(), birth_flags_, bytes, e.stack, bucket_);
}

void HeapMatcher::FreeIn(const Event& e) {
  const LiveTable::Spot spot = python_.Look(e.address);
  if (spot.object == nullptr) {
    ++totals_.unknown_frees;
    return;
  }
  End(*spot.object, Pool::kPython, nullptr);
  python_.Erase(spot);
}

// ---- The rest ----

void HeapMatcher::Rare(const trace::Record& r) {
  const auto append = [this](ChangeKind kind, size_t index) {
    Append(kind, Pool::kHeap, 0, bucket_, index, kNotSampled);
  };
  if (mappings_.Apply(r, bucket_)) {
    ++totals_.events;
  } else if (r.kind == RecordKind::kDevice) {
    ++totals_.events;
    ChangeBatch* batch = out_.Room();
    DeviceChange& device =
        batch->devices.emplace_back(DeviceChange{r.device, r.tsc, std::string(r.device.api)});
    device.record.api = device.api;
    append(ChangeKind::kDevice, batch->devices.size() - 1);
  } else if (r.kind == RecordKind::kFold) {
    ChangeBatch* batch = out_.Room();
    batch->folds.push_back(r.fold);
    append(ChangeKind::kFold, batch->folds.size() - 1);
  } else if (r.kind == RecordKind::kFoldTotals) {
    FoldTotals(r.fold_totals);
  } else if (r.kind == RecordKind::kFoldRow) {
    fold_rows_.push_back(r.fold_totals);
  }
}

// The rows are as the recording left them, so they belong to its end.
void HeapMatcher::FoldRows() {
  for (const trace::FoldTotalsRecord& row : fold_rows_) FoldTotals(row);
  fold_rows_.clear();
}

// What happened since the last totals of this stack, spread evenly over the buckets between: nothing is known
// of its course there.
void HeapMatcher::FoldTotals(const trace::FoldTotalsRecord& now) {
  constexpr uint64_t kMostPieces = 32;
  constexpr uint64_t kWhole = 256;
  const auto [it, is_new] = folded_.try_emplace(now.stack, Folded{{}, folded_from_});
  Folded& last = it->second;
  const uint64_t allocs = now.alloc_count_256 - last.totals.alloc_count_256;
  const uint64_t frees = now.free_count_256 - last.totals.free_count_256;
  const uint64_t alloc_bytes = now.alloc_bytes - last.totals.alloc_bytes;
  const uint64_t free_bytes = now.free_bytes - last.totals.free_bytes;
  if (now.alloc_count_256 < last.totals.alloc_count_256 || now.free_count_256 < last.totals.free_count_256 ||
      now.alloc_bytes < last.totals.alloc_bytes || now.free_bytes < last.totals.free_bytes) {
    return;  // older than what is known, or damage
  }
  const auto add = [&](const trace::FoldRecord& fold) {
    ChangeBatch* batch = out_.Room();
    batch->folds.push_back(fold);
    Append(ChangeKind::kFold, Pool::kHeap, 0, bucket_, batch->folds.size() - 1, kNotSampled);
  };
  const uint64_t buckets = bucket_ > last.bucket ? bucket_ - last.bucket : 1;
  // A piece has whole objects on both sides.
  uint64_t pieces = std::min(buckets, kMostPieces);
  for (const uint64_t count : {allocs / kWhole, frees / kWhole}) {
    if (count > 0) pieces = std::min(pieces, count);
  }
  const auto part = [pieces](uint64_t whole, uint64_t i) {
    const auto up_to = [&](uint64_t n) {
      return static_cast<uint64_t>(static_cast<double>(whole) * n / pieces);
    };
    return (i + 1 == pieces ? whole : up_to(i + 1)) - up_to(i);
  };
  for (uint64_t i = 0; i < pieces && (allocs > 0 || frees > 0); ++i) {
    const uint64_t bucket = last.bucket + std::max<uint64_t>(1, buckets * (i + 1) / pieces);
    add({now.stack, std::min<uint64_t>(bucket, bucket_), part(allocs / kWhole, i), part(alloc_bytes, i),
         part(frees / kWhole, i), part(free_bytes, i)});
  }
  last = {now, bucket_};
}

}  // namespace plateau::replay

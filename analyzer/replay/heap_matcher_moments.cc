// The part of HeapMatcher that is not on the path of every event: what happens at a moment of time, records that
// are rare, and lists of what is alive.
#include <algorithm>
#include <optional>
#include <string>

#include "analyzer/replay/heap_matcher.h"

namespace plateau::replay {

using trace::RecordKind;

// ---- Time ----

// Goes on to `tsc`, with a stop at each reading of residency on the way: it belongs to the bucket of its time,
// and what the ledger read at the same moment comes after it.
void HeapMatcher::Tick(uint64_t tsc) {
  while (residency_.NextTime() <= tsc) {
    const uint64_t time = residency_.NextTime();
    GoOnTo(std::max<uint64_t>(time, 1) - 1);
    while (residency_.NextTime() == time) ApplyResidency(residency_.Take());
  }
  GoOnTo(tsc);
}

// Ends what is doomed, notes what is over before `tsc`, and tells the accounts.
void HeapMatcher::GoOnTo(uint64_t tsc) {
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
  next(residency_.NextTime());
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
  const bool is_ending = moment >= kEndingMoment;
  if (is_ending ? !options_.on_ending : !options_.on_snapshot) return;
  const auto append = [&](uint64_t address, PackedObject packed) {
    const LiveObject object = packer_.Unpack(packed);
    out_.Append({object.stack, moment, 0, ChangeKind::kPlaced, object.pool, object.rate, 0},
                {.bytes = SizeOf(address, object), .address = address, .label = 0});
  };
  live_.ForEach(append);
  python_.ForEach(append);
  mappings_.AppendPlaced(moment);
}

// Appends what is live, the first time it is called: what comes later is teardown.
void HeapMatcher::AppendRetained() {
  if (has_retained_) return;
  has_retained_ = true;
  for (uint32_t pass = 0; pass < 2; ++pass) AppendPlaced(kEndingMoment + pass);
  totals_.live_objects = live_.size() + python_.size();
  totals_.live_table_bytes = live_.capacity_bytes() + python_.capacity_bytes() + packer_.capacity_bytes();
  if (!options_.on_retained) return;
  out_.Append({.bytes = 1, .kind = ChangeKind::kListing});
  for (const auto& [stream, limbo] : limbo_) {  // between the halves of a realloc, or killed there
    if (limbo.is_valid) {
      AppendRetained(limbo.object, limbo.parts.empty() ? nullptr : &limbo.parts, 0);
    }
  }
  const auto append = [this](uint64_t address, PackedObject packed) {
    if (packed.is_plain()) return out_.AppendWord(packed.word());
    const LiveObject object = packer_.Unpack(packed);
    AppendRetained(object, object.Has(kObjectParts) ? &parts_.find(address)->second : nullptr,
                   object.Has(kObjectFollowed) ? SizeOf(address, object) : 0);
  };
  live_.ForEach(append);
  python_.ForEach(append);
  mappings_.AppendRetained();
  out_.Append({.bytes = 0, .kind = ChangeKind::kListing});
}

void HeapMatcher::AppendRetained(const LiveObject& object, const Parts* parts, uint64_t reserved) {
  Change change{object.stack,
                object.birth,
                0,
                ChangeKind::kRetained,
                object.pool,
                object.rate,
                object.Has(kObjectTensor) ? uint8_t{kChangeTensor} : uint8_t{0}};
  ChangeDetail detail{.bytes = object.bytes,
                      .object_bytes = object.bytes,
                      .label = LabelOf(object.flags),
                      .reserved = reserved};
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

#include "analyzer/replay/heap_accounts.h"

#include <algorithm>
#include <utility>

namespace plateau::replay {
namespace {

// How many changes ahead the row of a stack is looked up.
constexpr size_t kIndexDistance = 24;
constexpr size_t kRowDistance = 12;

// How many runs of deaths, and how many sampled changes, are reported together.
constexpr size_t kMostReported = 256;

}  // namespace

HeapAccounts::HeapAccounts(const reader::TraceReader& reader, const Definitions* definitions,
                           const ReplayOptions* options)
    : definitions_(*definitions),
      options_(*options),
      rates_(reader.header()),
      stacks_(definitions->nodes.size(), definitions->event_count),  // an event has one stack
      observer_(options->observer) {
  result_.buckets.resize(options->bucket_ends.size() + 1);
  result_.ledger.resize(definitions->ledger.size());
}

// ---- Amounts ----

uint32_t HeapAccounts::NewSite(Pool pool, uint32_t node) {
  const uint32_t site = options_.site_of(pool, node);
  if (site >= tallies_.size()) tallies_.resize(site + 1);
  return site;
}

class HeapAccounts::Levels {
 public:
  Levels(HeapAccounts* accounts, Pool pool)
      : accounts_(*accounts),
        pool_(accounts_.result_.pools[static_cast<size_t>(pool)]),
        pool_bytes_(pool_.live_bytes),
        live_bytes_(accounts_.live_bytes_) {}
  ~Levels() {
    EndGrowth();
    pool_.live_bytes = pool_bytes_;
    accounts_.live_bytes_ = live_bytes_;
  }

  [[gnu::always_inline]] void Grow(double bytes) {
    pool_bytes_ += bytes;
    live_bytes_ += bytes;
    has_grown_ = true;
  }
  // Before a row shrinks: no level on the way here was higher than this one.
  [[gnu::always_inline]] void EndGrowth() {
    if (has_grown_) NotePeaks();
    has_grown_ = false;
  }
  [[gnu::always_inline]] void Shrink(double bytes) {
    pool_bytes_ -= bytes;
    live_bytes_ -= bytes;
  }

 private:
  void NotePeaks() {
    pool_.peak_bytes = std::max(pool_.peak_bytes, pool_bytes_);
    accounts_.high_bytes_ = std::max(accounts_.high_bytes_, live_bytes_);
    if (live_bytes_ <= accounts_.peak_bytes_) return;
    accounts_.peak_bytes_ = live_bytes_;
    accounts_.stacks_.rows().NotePeak();
    accounts_.result_.peak_bucket = accounts_.bucket_;
  }

  HeapAccounts& accounts_;
  PoolLevel& pool_;
  double pool_bytes_;
  double live_bytes_;
  bool has_grown_ = false;
};

template <bool kIsObserved>
inline bool HeapAccounts::TryBorn(uint32_t row, uint32_t bytes, Levels* levels) {
  StackRows& rows = stacks_.rows();
  SiteTally* const tally = kIsObserved ? &tallies_[rows.site(row)] : nullptr;
  if (kIsObserved && !tally->is_plain) [[unlikely]]
    return false;
  if (!rows.TryBorn(row, bytes, /*is_object=*/true)) [[unlikely]]
    return false;
  if constexpr (kIsObserved) tally->Born(bytes, 1, true);
  levels->Grow(bytes);
  return true;
}

template <bool kIsObserved>
inline bool HeapAccounts::TryDied(uint32_t row, uint32_t bytes, uint32_t birth, Levels* levels) {
  StackRows& rows = stacks_.rows();
  SiteTally* const tally = kIsObserved ? &tallies_[rows.site(row)] : nullptr;
  const bool is_temporary = birth == bucket_;
  if (kIsObserved && (!tally->is_plain || (!is_temporary && birth != tally->run_birth))) [[unlikely]]
    return false;
  levels->EndGrowth();
  if (!rows.TryDied(row, bytes, /*is_object=*/true, is_temporary)) [[unlikely]]
    return false;
  if constexpr (kIsObserved) tally->Died(bytes, 1, true, is_temporary);
  levels->Shrink(bytes);
  return true;
}

inline void HeapAccounts::PrefetchBehind(const uint64_t* c, const uint64_t* end) {
  if (static_cast<size_t>(end - c) <= kIndexDistance) return;
  stacks_.PrefetchIndex(PackedObject(c[kIndexDistance]).stack());
  stacks_.PrefetchRow(PackedObject(c[kRowDistance]).stack());
}

template <bool kIsObserved>
const uint64_t* HeapAccounts::ApplyPlainRun(const uint64_t* c, const uint64_t* end) {
  if (!PackedObject(*c).is_plain()) return c;
  const uint16_t source = eras_[PackedObject(*c).era()].source;
  const Pool pool = static_cast<Pool>(source >> 8);
  if (source != SourceOf(pool, kNotSampled)) return c;
  const bool is_large = stacks_.is_large();
  Levels levels(this, pool);
  for (; c != end; ++c) {
    if (is_large) PrefetchBehind(c, end);
    const PackedObject object(*c);
    if (!object.is_plain()) [[unlikely]]
      break;
    const BornIn& era = eras_[object.era()];
    if (era.source != source) [[unlikely]]
      break;
    uint32_t row = stacks_.FindRow(pool, object.stack());
    if (StackIndex::IsNoRow(row)) [[unlikely]]
      row = RowOf(pool, object.stack());
    const bool is_done = object.has_died() ? TryDied<kIsObserved>(row, object.bytes(), era.birth, &levels)
                                           : TryBorn<kIsObserved>(row, object.bytes(), &levels);
    if (!is_done) [[unlikely]]
      break;
  }
  return c;
}

Change HeapAccounts::ChangeOf(PackedObject object) const {
  const BornIn& era = eras_[object.era()];
  return {object.stack(),
          era.birth,
          object.bytes(),
          object.has_died() ? ChangeKind::kDied : ChangeKind::kBorn,
          static_cast<Pool>(era.source >> 8),
          static_cast<uint8_t>(era.source),
          0};
}

void HeapAccounts::ApplyOne(const Change& change, const ChangeBatch& batch) {
  if (change.kind > ChangeKind::kShrunk) return ApplyOther(change, batch);
  const bool is_birth = change.kind <= ChangeKind::kGrown;
  const bool is_object = change.kind == ChangeKind::kBorn || change.kind == ChangeKind::kDied;
  const uint32_t birth = is_birth ? bucket_ : change.birth;
  const uint32_t row = RowOf(change.pool, change.stack);
  const uint64_t bytes = batch.BytesOf(change);
  const double size = static_cast<double>(bytes);
  const double weight = rates_.Weight(change.rate, bytes);
  SiteTally* const tally = TallyFor({size, weight, stacks_.rows().site(row), birth, is_object, is_birth});
  Levels levels(this, change.pool);
  if (is_birth) {
    stacks_.rows().Born(row, bytes, weight, is_object);
    if (tally != nullptr) tally->Born(bytes, weight, is_object);
    levels.Grow(size * weight);
  } else {
    stacks_.rows().Died(row, bytes, weight, is_object, birth == bucket_);
    if (tally != nullptr) tally->Died(bytes, weight, is_object, birth == bucket_);
    levels.Shrink(size * weight);
  }
}

const uint64_t* HeapAccounts::ListPlain(const uint64_t* c, const uint64_t* end) {
  const bool is_large = stacks_.is_large();
  for (; c != end && PackedObject(*c).is_plain(); ++c) {
    if (is_large) PrefetchBehind(c, end);
    const PackedObject object(*c);
    ReportRetained(
        ChangeOf(object),
        {.bytes = object.bytes(), .object_bytes = object.bytes(), .label = eras_[object.era()].label});
  }
  return c;
}

void HeapAccounts::Apply(const ChangeBatch& batch) {
  stacks_.rows().MakeRoomForPeaks(batch.size);
  const uint64_t* const end = batch.words.get() + batch.size;
  for (const uint64_t* c = batch.words.get(); c != end;) {
    c = is_listing_ ? ListPlain(c, end) : ApplyPlain(c, end);
    if (c == end) break;
    const PackedObject object(*c);
    if (object.is_plain()) {
      ApplyOne(ChangeOf(object), batch);
    } else {
      ApplyOne(batch.others[*c], batch);
    }
    ++c;
  }
}

inline void HeapAccounts::AddToPool(Pool pool, double bytes) {
  PoolLevel& level = result_.pools[static_cast<size_t>(pool)];
  level.live_bytes += bytes;
  level.peak_bytes = std::max(level.peak_bytes, level.live_bytes);
}

void HeapAccounts::ApplyOther(const Change& change, const ChangeBatch& batch) {
  const uint64_t bytes = batch.BytesOf(change);
  switch (change.kind) {
    case ChangeKind::kPoolGrew:
      AddToPool(change.pool, static_cast<double>(bytes));
      break;
    case ChangeKind::kPoolShrank:
      result_.pools[static_cast<size_t>(change.pool)].live_bytes -= static_cast<double>(bytes);
      break;
    case ChangeKind::kTagged:
    case ChangeKind::kUntagged: {
      const double count = (change.kind == ChangeKind::kTagged ? 1 : -1) * rates_.Weight(change.rate, bytes);
      tensor_count_ += count;
      tensor_bytes_ += count * static_cast<double>(bytes);
      if (observer_ != nullptr) {
        const uint32_t site = stacks_.rows().site(RowOf(change.pool, change.stack));
        observer_->OnTensor(site, count, static_cast<double>(bytes), bucket_);
      }
      break;
    }
    case ChangeKind::kRetained:
      ReportRetained(change, batch.details[change.bytes]);
      break;
    case ChangeKind::kPlaced: {
      const PlacedBlock block{batch.details[change.bytes].address, bytes, rates_.Weight(change.rate, bytes),
                              stacks_.rows().site(RowOf(change.pool, change.stack)), change.pool};
      if (change.birth >= kEndingMoment) {
        options_.on_ending(static_cast<int>(change.birth - kEndingMoment), block);
      } else {
        options_.on_snapshot(change.birth, block);
      }
      break;
    }
    case ChangeKind::kTick:
      Tick(batch.details[change.bytes].time);
      break;
    case ChangeKind::kDevice: {
      const DeviceChange& device = batch.devices[change.bytes];
      if (options_.on_device) options_.on_device(device.record, device.tsc, bucket_);
      break;
    }
    case ChangeKind::kFold:
      ApplyFolded(batch.folds[change.bytes]);
      break;
    case ChangeKind::kEra:
      if (change.bytes >= eras_.size()) eras_.resize(change.bytes + 1);
      eras_[change.bytes] = {change.birth, SourceOf(change.pool, change.rate),
                             static_cast<uint8_t>(change.stack)};
      break;
    case ChangeKind::kListing:
      is_listing_ = change.bytes != 0;
      break;
    default:  // amounts, which Apply() knows
      break;
  }
}

// ---- What the observer is told: sums of sites, runs of deaths, sampled changes ----

SiteTally* HeapAccounts::TallyFor(const SampledChange& change) {
  if (observer_ == nullptr) return nullptr;
  SiteTally& tally = tallies_[change.site];
  const bool begins_sampling = change.weight != 1 && !tally.is_sampled;
  if (begins_sampling) {  // with what is there now, and nothing that comes later
    ReportDeaths();
    ReportTally(change.site);
    tally.is_sampled = true;
  }
  if (!tally.is_listed) {
    tally.is_listed = true;
    touched_.push_back(change.site);
  }
  tally.is_plain = !tally.is_sampled;
  if (tally.is_sampled) {
    sampled_.push_back(change);
    if (begins_sampling || sampled_.size() >= kMostReported) ReportSampled();
  }
  const bool is_old = !change.is_birth && change.birth != bucket_;
  if (is_old && change.birth != tally.run_birth) {
    if (tally.has_run()) deaths_.push_back({tally.run, change.site, tally.run_birth});
    tally.BeginRun(change.birth);
    if (deaths_.size() >= kMostReported) ReportDeaths();
  }
  return &tally;
}

void HeapAccounts::ReportTally(uint32_t site) {
  if (!tallies_[site].is_listed) return;
  observer_->OnTally(site, tallies_[site], bucket_);
  tallies_[site].Clear();
}

void HeapAccounts::ReportDeaths() {
  if (!deaths_.empty()) observer_->OnDeaths(deaths_, bucket_);
  deaths_.clear();
}

void HeapAccounts::ReportSampled() {
  if (!sampled_.empty()) observer_->OnSampled(sampled_, bucket_);
  sampled_.clear();
}

void HeapAccounts::ReportAll() {
  if (observer_ == nullptr) return;
  ReportDeaths();
  ReportSampled();
  for (const uint32_t site : touched_) {
    ReportTally(site);
    tallies_[site].is_listed = false;
  }
  touched_.clear();
}

// ---- Time ----

// Closes the buckets and notes the ledger readings that end before `tsc`.
void HeapAccounts::Tick(uint64_t tsc) {
  bucket_peak_ = std::max(bucket_peak_, high_bytes_);
  reading_peak_ = std::max(reading_peak_, high_bytes_);
  high_bytes_ = 0;
  while (bucket_ < options_.bucket_ends.size() && tsc >= options_.bucket_ends[bucket_]) CloseBucket();
  while (ledger_next_ < definitions_.ledger.size() && tsc >= definitions_.ledger[ledger_next_].tsc) {
    result_.ledger[ledger_next_++] = {PoolBytes(), std::max(reading_peak_, live_bytes_), tensor_bytes_,
                                      tensor_count_};
    reading_peak_ = live_bytes_;
  }
  while (rate_next_ < definitions_.rates.size() && tsc >= definitions_.rates[rate_next_].tsc) {
    rates_.Add(definitions_.rates[rate_next_++].rate);
  }
}

void HeapAccounts::CloseBucket() {
  ReportAll();
  BucketLevel& level = result_.buckets[bucket_];
  level.live_bytes = live_bytes_;
  level.live_peak_bytes = std::max(bucket_peak_, live_bytes_);
  level.tensor_bytes = tensor_bytes_;
  level.tensor_count = tensor_count_;
  level.pool_bytes = PoolBytes();
  bucket_peak_ = live_bytes_;
  if (bucket_++ == options_.last_bucket) TakeRetained();
}

// Notes what is live as retained and stops observing.
void HeapAccounts::TakeRetained() {
  if (has_retained_) return;
  has_retained_ = true;
  observer_ = nullptr;
  if (bucket_ > options_.bucket_ends.size()) return;  // nothing comes any more: the rows themselves will do
  stacks_.rows().NoteRetained();
}

std::array<double, kPools> HeapAccounts::PoolBytes() const {
  std::array<double, kPools> bytes{};
  for (size_t i = 0; i < kPools; ++i) bytes[i] = result_.pools[i].live_bytes;
  return bytes;
}

ReplayResult HeapAccounts::Finish() {
  Tick(UINT64_MAX - 1);
  while (bucket_ < options_.bucket_ends.size()) CloseBucket();
  CloseBucket();
  TakeRetained();
  result_.stacks = stacks_.TakeRows();
  result_.peak_bytes = peak_bytes_;
  result_.folded_events = static_cast<uint64_t>(folded_events_ + 0.5);
  AddLateLevels();
  result_.has_sampling = rates_.has_sampling();
  return std::move(result_);
}

void HeapAccounts::ReportRetained(const Change& change, const ChangeDetail& detail) {
  const uint32_t row = RowOf(change.pool, change.stack);
  const double p = rates_.Probability(change.rate, detail.bytes);
  options_.on_retained({row, stacks_.rows().site(row), change.birth, static_cast<double>(detail.bytes) / p,
                        change.flags & kChangePiece ? 0.0 : 1 / p, SampleVariance(p, detail.bytes),
                        (change.flags & kChangeTensor) != 0, detail.label, p == 1 ? detail.object_bytes : 0,
                        detail.reserved});
}

// Totals of a bucket that may be over: its level is put right in the end.
void HeapAccounts::ApplyFolded(const FoldedPart& part) {
  const uint32_t row = RowOf(Pool::kHeap, part.stack);
  const StackRows& rows = stacks_.rows();
  FoldedPart p = part;
  p.bucket = std::min(p.bucket, bucket_);
  // Each event was rounded to whole bytes when it was folded; no more ends than there is.
  p.free_bytes = std::min(p.free_bytes, std::max(rows.live_bytes(row) + p.alloc_bytes, 0.0));
  p.free_count = std::min(p.free_count, std::max(rows.live_count(row) + p.alloc_count, 0.0));
  if (observer_ != nullptr) {
    // The totals come after all that was recorded one by one.
    const uint32_t site = rows.site(row);
    ReportDeaths();
    ReportSampled();
    ReportTally(site);
    const double mean_bytes = p.alloc_count > 0 ? p.alloc_bytes / p.alloc_count : 0;
    const double weight = rates_.Weight(rates_.current(), static_cast<uint64_t>(mean_bytes));
    tallies_[site].is_sampled |= weight > 1;
    observer_->OnFolded(site, p, weight);
  }
  const double change = p.alloc_bytes - p.free_bytes;
  stacks_.rows().Apply(row, {.live_bytes = change,
                             .live_count = p.alloc_count - p.free_count,
                             .alloc_bytes = p.alloc_bytes,
                             .alloc_count = p.alloc_count,
                             .free_count = p.free_count,
                             .temporary_bytes = std::min(p.free_bytes, p.alloc_bytes)});
  Levels(this, rows.pool(row)).Grow(change);
  late_.Add(p.bucket, bucket_, change);
  folded_events_ += p.alloc_count + p.free_count;
}

void HeapAccounts::AddLateLevels() {
  const std::vector<double> missing = late_.Missing();
  const auto add = [&](uint32_t bucket, std::array<double, kPools>* pools, double* peak) {
    if (bucket >= missing.size()) return;
    (*pools)[static_cast<size_t>(Pool::kHeap)] += missing[bucket];
    *peak += missing[bucket];
  };
  for (uint32_t bucket = 0; bucket < result_.buckets.size() && bucket < missing.size(); ++bucket) {
    BucketLevel& level = result_.buckets[bucket];
    level.live_bytes += missing[bucket];
    add(bucket, &level.pool_bytes, &level.live_peak_bytes);
  }
  for (size_t i = 0; i < result_.ledger.size(); ++i) {
    const auto& ends = options_.bucket_ends;
    const auto end = std::upper_bound(ends.begin(), ends.end(), definitions_.ledger[i].tsc);
    add(static_cast<uint32_t>(end - ends.begin()), &result_.ledger[i].pool_bytes,
        &result_.ledger[i].live_peak_bytes);
  }
}

}  // namespace plateau::replay

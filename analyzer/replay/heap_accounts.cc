#include "analyzer/replay/heap_accounts.h"

#include <algorithm>
#include <utility>

namespace plateau::replay {
namespace {

// How many changes ahead the row of a stack is looked up.
constexpr size_t kIndexDistance = 24;
constexpr size_t kRowDistance = 12;

}  // namespace

HeapAccounts::HeapAccounts(const reader::TraceReader& reader, const Definitions* definitions,
                           const ReplayOptions* options)
    : definitions_(*definitions),
      options_(*options),
      rates_(reader.header()),
      totals_(definitions->nodes.size()),
      observer_(options->observer) {
  result_.buckets.resize(options->bucket_ends.size() + 1);
  result_.ledger.resize(definitions->ledger.size());
}

// ---- Amounts ----

// Bytes of one object that stands for several when it was sampled; a growth has no count of its own.
inline void HeapAccounts::Born(const Change& change, uint64_t bytes) {
  const uint32_t row = RowOf(change.pool, change.stack);
  const bool is_object = change.kind == ChangeKind::kBorn;
  const double weight = rates_.Weight(change.rate, bytes);
  const double size = static_cast<double>(bytes);
  if (observer_ != nullptr) {
    Observe({size, weight, totals_.rows().site(row), bucket_,
             is_object ? SiteChange::Kind::kAlloc : SiteChange::Kind::kGrow});
  }
  AddToPool(change.pool, size * weight);
  if (totals_.Born(row, bytes, weight, is_object)) result_.peak_bucket = bucket_;
  high_bytes_ = std::max(high_bytes_, totals_.live_bytes());
}

inline void HeapAccounts::Died(const Change& change, uint64_t bytes) {
  const uint32_t row = RowOf(change.pool, change.stack);
  const bool is_object = change.kind == ChangeKind::kDied;
  const double weight = rates_.Weight(change.rate, bytes);
  const double size = static_cast<double>(bytes);
  if (observer_ != nullptr) {
    Observe({size, weight, totals_.rows().site(row), change.birth,
             is_object ? SiteChange::Kind::kFree : SiteChange::Kind::kFreePart});
  }
  result_.pools[static_cast<size_t>(change.pool)].live_bytes -= size * weight;
  totals_.Died(row, bytes, weight, is_object, change.birth == bucket_);
}

inline void HeapAccounts::AddToPool(Pool pool, double bytes) {
  PoolLevel& level = result_.pools[static_cast<size_t>(pool)];
  level.live_bytes += bytes;
  level.peak_bytes = std::max(level.peak_bytes, level.live_bytes);
}

void HeapAccounts::Apply(const ChangeBatch& batch) {
  const bool is_large = totals_.is_large();
  const Change* const end = batch.changes.get() + batch.size;
  for (const Change* c = batch.changes.get(); c != end; ++c) {
    if (is_large && static_cast<size_t>(end - c) > kIndexDistance) {
      totals_.PrefetchIndex(c[kIndexDistance].stack);
      totals_.PrefetchRow(c[kRowDistance].stack);
    }
    if (c->kind <= ChangeKind::kGrown) {
      Born(*c, batch.BytesOf(*c));
    } else if (c->kind <= ChangeKind::kShrunk) {
      Died(*c, batch.BytesOf(*c));
    } else {
      Other(*c, batch);
    }
  }
  TellObserver();
}

void HeapAccounts::Other(const Change& change, const ChangeBatch& batch) {
  TellObserver();  // what came before this one
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
        const uint32_t site = totals_.rows().site(RowOf(change.pool, change.stack));
        observer_->OnTensor(site, count, static_cast<double>(bytes), bucket_);
      }
      break;
    }
    case ChangeKind::kRetained:
      Show(change, batch.details[change.bytes]);
      break;
    case ChangeKind::kPlaced:
      options_.on_snapshot(change.birth,
                           {batch.details[change.bytes].address, bytes, rates_.Weight(change.rate, bytes),
                            totals_.rows().site(RowOf(change.pool, change.stack))});
      break;
    case ChangeKind::kTick:
      Tick(batch.details[change.bytes].time);
      break;
    case ChangeKind::kDevice: {
      const DeviceChange& device = batch.devices[change.bytes];
      if (options_.on_device) options_.on_device(device.record, device.tsc, bucket_);
      break;
    }
    case ChangeKind::kFold:
      Fold(batch.folds[change.bytes]);
      break;
    default:  // amounts, which Apply() knows
      break;
  }
}

void HeapAccounts::TellObserver() {
  if (observed_size_ == 0) return;
  observer_->OnChanges({observed_.data(), observed_size_}, bucket_);
  observed_size_ = 0;
}

// ---- Time ----

// Closes the buckets and notes the ledger readings that end before `tsc`.
void HeapAccounts::Tick(uint64_t tsc) {
  bucket_peak_ = std::max(bucket_peak_, high_bytes_);
  reading_peak_ = std::max(reading_peak_, high_bytes_);
  high_bytes_ = 0;
  while (bucket_ < options_.bucket_ends.size() && tsc >= options_.bucket_ends[bucket_]) CloseBucket();
  while (ledger_next_ < definitions_.ledger.size() && tsc >= definitions_.ledger[ledger_next_].tsc) {
    result_.ledger[ledger_next_++] = {PoolBytes(), std::max(reading_peak_, totals_.live_bytes()),
                                      tensor_bytes_, tensor_count_};
    reading_peak_ = totals_.live_bytes();
  }
  while (rate_next_ < definitions_.rates.size() && tsc >= definitions_.rates[rate_next_].tsc) {
    rates_.Add(definitions_.rates[rate_next_++].rate);
  }
}

void HeapAccounts::CloseBucket() {
  BucketLevel& level = result_.buckets[bucket_];
  level.live_bytes = totals_.live_bytes();
  level.live_peak_bytes = std::max(bucket_peak_, totals_.live_bytes());
  level.tensor_bytes = tensor_bytes_;
  level.tensor_count = tensor_count_;
  level.pool_bytes = PoolBytes();
  bucket_peak_ = totals_.live_bytes();
  if (bucket_++ == options_.last_bucket) TakeRetained();
}

// Notes what is live as retained and stops observing.
void HeapAccounts::TakeRetained() {
  if (has_retained_) return;
  has_retained_ = true;
  observer_ = nullptr;
  if (bucket_ > options_.bucket_ends.size()) return;  // nothing comes any more: the rows themselves will do
  totals_.NoteRetained();
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
  result_.stacks = totals_.TakeRows();
  result_.peak_bytes = totals_.peak_bytes();
  result_.folded_events = static_cast<uint64_t>(folded_events_ + 0.5);
  AddLateLevels();
  result_.has_sampling = rates_.has_sampling();
  return std::move(result_);
}

void HeapAccounts::Show(const Change& change, const ChangeDetail& detail) {
  const uint32_t row = RowOf(change.pool, change.stack);
  const double p = rates_.Probability(change.rate, detail.bytes);
  options_.on_retained({row, totals_.rows().site(row), change.birth, static_cast<double>(detail.bytes) / p,
                        change.flags & kChangePiece ? 0.0 : 1 / p, SampleVariance(p, detail.bytes),
                        (change.flags & kChangeTensor) != 0, detail.label, p == 1 ? detail.object_bytes : 0});
}

// Totals of a bucket that may be over: its level is put right in the end.
void HeapAccounts::Fold(const FoldedPart& part) {
  const uint32_t row = RowOf(Pool::kHeap, part.stack);
  const StackRows& rows = totals_.rows();
  FoldedPart p = part;
  p.bucket = std::min(p.bucket, bucket_);
  // Each event was rounded to whole bytes when it was folded; no more ends than there is.
  p.free_bytes = std::min(p.free_bytes, std::max(rows.live_bytes(row) + p.alloc_bytes, 0.0));
  p.free_count = std::min(p.free_count, std::max(rows.live_count(row) + p.alloc_count, 0.0));
  if (observer_ != nullptr) {
    const double mean_bytes = p.alloc_count > 0 ? p.alloc_bytes / p.alloc_count : 0;
    const double weight = rates_.Weight(rates_.current(), static_cast<uint64_t>(mean_bytes));
    observer_->OnFolded(rows.site(row), p, weight);
  }
  const double change = p.alloc_bytes - p.free_bytes;
  AddToPool(rows.pool(row), change);
  totals_.Apply(row, {.live_bytes = change,
                      .live_count = p.alloc_count - p.free_count,
                      .alloc_bytes = p.alloc_bytes,
                      .alloc_count = p.alloc_count,
                      .free_count = p.free_count,
                      .temporary_bytes = std::min(p.free_bytes, p.alloc_bytes)});
  high_bytes_ = std::max(high_bytes_, totals_.live_bytes());
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

#include "analyzer/series/series_accumulator.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace plateau::series {
namespace {

constexpr int64_t kOldSteps = 2;  // a block that lives this long is not churn

uint64_t HashSize(uint64_t bytes) {
  uint64_t x = bytes + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Merges bucket pairs (1,2), (3,4), ... of values that start at bucket `first`; bucket 0 stays alone.
template <typename T, typename Merge>
int64_t MergePairs(std::vector<T>& values, int64_t first, Merge merge) {
  if (values.empty()) return BucketOfStep(first, 2);
  const int64_t new_first = BucketOfStep(first, 2);
  size_t out = 0;
  int64_t out_bucket = new_first;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t bucket = BucketOfStep(first + static_cast<int64_t>(i), 2);
    if (i == 0) continue;
    if (bucket == out_bucket) {
      merge(values[out], values[i]);
    } else {
      values[++out] = values[i];
      out_bucket = bucket;
    }
  }
  values.resize(out + 1);
  return new_first;
}

}  // namespace

const char* BirthPhaseName(BirthPhase phase) {
  static constexpr const char* kNames[] = {"start-up",  "data loading", "forward",    "backward",
                                           "optimizer", "evaluation",   "checkpoint", "other"};
  return kNames[static_cast<size_t>(phase)];
}

void SeriesAccumulator::MakeRoomUpTo(int64_t step) {
  last_step_ = step;
  while (BucketOf(last_step_) > options_.max_buckets) Coarsen();
}

SeriesAccumulator::Cell& SeriesAccumulator::NewCell(Site& site, int64_t bucket) {
  if (site.cells.empty()) site.first_bucket = bucket;
  if (bucket < site.first_bucket) {  // born before anything else we saw of this site
    const size_t missing = static_cast<size_t>(site.first_bucket - bucket);
    site.cells.insert(site.cells.begin(), missing, Cell{});
    cells_in_use_ += missing;
    site.first_bucket = bucket;
  }
  const size_t index = static_cast<size_t>(bucket - site.first_bucket);
  if (index >= site.cells.size()) {
    cells_in_use_ += index + 1 - site.cells.size();
    if (index >= site.cells.capacity()) site.cells.reserve(index + 1 + index / 4);
    site.cells.resize(index + 1);
  }
  return site.cells[index];
}

void SeriesAccumulator::Coarsen() {
  cells_in_use_ = 0;
  for (Site& site : sites_) {
    site.first_bucket = MergePairs(site.cells, site.first_bucket, [](Cell& into, const Cell& from) {
      into.alloc_bytes += from.alloc_bytes;
      into.free_bytes += from.free_bytes;
      into.surv_bytes += from.surv_bytes;
      into.alloc_count += from.alloc_count;
      into.free_count += from.free_count;
      into.surv_count += from.surv_count;
      into.surv_variance += from.surv_variance;
      into.surv_records += from.surv_records;
    });
    site.cells.shrink_to_fit();
    cells_in_use_ += site.cells.size();
  }
  bucket_steps_ *= 2;
  ++width_shift_;
}

void SeriesAccumulator::EndStep(Site& site, int64_t next_step) {
  const double paired = std::min(site.old_frees_now, site.allocs_now);
  if (site.old_block_died) {
    site.paired_count += paired;
    site.pairable_count += site.allocs_now;
  }
  if (site.old_frees_now > 0) site.old_block_died = true;
  site.current_step = next_step;
  site.old_frees_now = site.allocs_now = 0;
}

inline void SeriesAccumulator::Born(Site& site, double bytes, double count, double weight, int64_t bucket) {
  Cell& cell = CellAt(site, bucket);
  const double weighted = bytes * weight;
  cell.alloc_bytes += weighted;
  cell.surv_bytes += weighted;
  cell.alloc_count += count * weight;
  cell.surv_count += count * weight;
  cell.surv_records += static_cast<float>(count);
  if (weight > 1) {
    cell.surv_variance += static_cast<float>(bytes * bytes * weight * (weight - 1));
    site.is_sampled = true;
  }
  site.live_bytes += weighted;
  site.peak_bytes = std::max(site.peak_bytes, site.live_bytes);
}

inline void SeriesAccumulator::Died(Site& site, int64_t birth_step, double bytes, double count, double weight,
                                    int64_t step, int64_t bucket) {
  const double weighted = bytes * weight;
  const int64_t age = std::max<int64_t>(0, step - birth_step);
  Cell& birth = CellAt(site, birth_step == step ? bucket : BucketOf(birth_step));
  birth.surv_bytes = std::max(0.0, birth.surv_bytes - weighted);
  birth.surv_count = std::max(0.0, birth.surv_count - count * weight);
  birth.surv_records -= std::min(birth.surv_records, static_cast<float>(count));
  if (weight > 1) {
    birth.surv_variance =
        std::max(0.0f, birth.surv_variance - static_cast<float>(bytes * bytes * weight * (weight - 1)));
  }
  Cell& death = CellAt(site, bucket);
  death.free_bytes += weighted;
  death.free_count += count * weight;
  const int age_bucket = AgeBucket(static_cast<uint64_t>(age));
  site.death_bytes[age_bucket] += weighted;
  site.death_count[age_bucket] += count * weight;
  if (age == 0) site.temporary_bytes += weighted;
  if (age >= kOldSteps && count > 0) site.old_frees_now += weight;
  site.live_bytes -= weighted;
}

inline void SeriesAccumulator::NoteSize(Site& site, double bytes, double weight, int64_t step) {
  site.allocs_now += weight;
  const auto whole = static_cast<uint64_t>(bytes);
  const uint64_t hash = HashSize(whole);
  uint64_t& word = site.size_keys[(hash >> 6) & 3];
  const uint64_t bit = uint64_t{1} << (hash & 63);
  if ((word & bit) == 0) {
    word |= bit;
    site.new_size_bytes += bytes * weight;
  }
  const bool is_power_of_two = (bytes >= 1) & ((whole & (whole - 1)) == 0);
  site.power_of_two_count += is_power_of_two ? weight : 0;  // no branch: sizes are hard to predict
  if (step >= 1) {
    site.bytes_in_steps += bytes * weight;
    site.squared_bytes_in_steps += bytes * bytes * weight;
  }
}

void SeriesAccumulator::OnAlloc(uint32_t site, double bytes, double weight, int64_t step) {
  One({bytes, weight, site, 0, replay::SiteChange::Kind::kAlloc}, step);
}

void SeriesAccumulator::OnFree(uint32_t site, int64_t birth_step, double bytes, double weight, int64_t step,
                               bool is_object) {
  using Kind = replay::SiteChange::Kind;
  const auto birth = static_cast<uint32_t>(std::max<int64_t>(0, birth_step));
  One({bytes, weight, site, birth, is_object ? Kind::kFree : Kind::kFreePart}, step);
}

void SeriesAccumulator::OnGrow(uint32_t site, double more_bytes, double weight, int64_t step) {
  One({more_bytes, weight, site, 0, replay::SiteChange::Kind::kGrow}, step);
}

void SeriesAccumulator::OnShrink(uint32_t site_id, int64_t birth_step, double fewer_bytes, double weight,
                                 int64_t step) {
  OnFree(site_id, birth_step, fewer_bytes, weight, step, /*is_object=*/false);
}

void SeriesAccumulator::Apply(std::span<const replay::SiteChange> changes, int64_t step) {
  using Kind = replay::SiteChange::Kind;
  if (changes.empty()) return;
  MakeRoom(step);
  int64_t bucket = BucketOf(step);
  for (const replay::SiteChange& c : changes) {
    Site& site = At(c.site);
    BeginStep(site, step);
    if (c.IsBirth()) {
      if (c.kind == Kind::kAlloc) NoteSize(site, c.bytes, c.weight, step);
      Born(site, c.bytes, c.kind == Kind::kAlloc ? 1 : 0, c.weight, bucket);
      if (c.kind == Kind::kAlloc && IsOverfull()) [[unlikely]] {
        while (IsOverfull()) Coarsen();
        bucket = BucketOf(step);
      }
    } else {
      Died(site, c.birth, c.bytes, c.kind == Kind::kFree ? 1 : 0, c.weight, step, bucket);
    }
  }
}

void SeriesAccumulator::OnTotals(uint32_t site_id, const Totals& totals, int64_t step) {
  MakeRoom(step);
  Site& site = At(site_id);
  BeginStep(site, step);
  site.allocs_now += totals.alloc_count;
  if (step >= 1 && totals.alloc_count > 0) {
    site.bytes_in_steps += totals.alloc_bytes;
    site.squared_bytes_in_steps += totals.alloc_bytes * (totals.alloc_bytes / totals.alloc_count);
  }
  site.is_sampled |= totals.weight > 1;
  Cell& cell = CellAt(site, BucketOf(step));
  cell.alloc_bytes += totals.alloc_bytes;
  cell.alloc_count += totals.alloc_count;
  cell.free_bytes += totals.free_bytes;
  cell.free_count += totals.free_count;
  site.live_bytes += totals.alloc_bytes - totals.free_bytes;
  site.peak_bytes = std::max(site.peak_bytes, site.live_bytes);
  // What was born and died between the same two totals is taken for temporary.
  const double kept_bytes = totals.alloc_bytes - totals.free_bytes;
  const double kept_count = totals.alloc_count - totals.free_count;
  const double temporary = std::min(totals.alloc_bytes, totals.free_bytes);
  site.temporary_bytes += temporary;
  site.death_bytes[0] += temporary;
  site.death_count[0] += std::min(totals.alloc_count, totals.free_count);
  if (kept_bytes >= 0) {
    cell.surv_bytes += kept_bytes;
    cell.surv_count += std::max(0.0, kept_count);
    cell.surv_records += static_cast<float>(std::max(0.0, kept_count) / totals.weight);
    if (kept_count > 0) {
      cell.surv_variance += static_cast<float>(kept_bytes * (kept_bytes / kept_count) * (totals.weight - 1));
    }
  } else {
    EndYoungest(site, -kept_bytes, step);
  }
}

// Takes `bytes` from the survivors of the last buckets up to that of `step`.
void SeriesAccumulator::EndYoungest(Site& site, double bytes, int64_t step) {
  for (int64_t bucket = BucketOf(step); bucket >= site.first_bucket && bytes > 0; --bucket) {
    Cell& cell = site.cells[static_cast<size_t>(bucket - site.first_bucket)];
    if (cell.surv_bytes <= 0) continue;
    const double taken = std::min(bytes, cell.surv_bytes);
    const double left = 1 - taken / cell.surv_bytes;
    const uint64_t age = static_cast<uint64_t>(step - std::min(step, bucket * bucket_steps_));
    site.death_bytes[AgeBucket(age)] += taken;
    site.death_count[AgeBucket(age)] += cell.surv_count * (1 - left);
    cell.surv_bytes -= taken;
    cell.surv_count *= left;
    cell.surv_records *= static_cast<float>(left);
    cell.surv_variance *= static_cast<float>(left);
    bytes -= taken;
  }
}

void SeriesAccumulator::OnSurvivor(uint32_t site_id, BirthPhase phase, double bytes) {
  Site& site = At(site_id);
  if (!site.phases) site.phases = std::make_unique<std::array<double, kBirthPhases>>();
  (*site.phases)[static_cast<size_t>(phase)] += bytes;
}

void SeriesAccumulator::Finish(int64_t last_step) {
  MakeRoom(last_step);
  for (Site& site : sites_) BeginStep(site, last_step_ + 1);
}

void SeriesAccumulator::Load(size_t site_index, SiteSeries* series) const {
  const Site& site = sites_[site_index];
  const size_t length = static_cast<size_t>(buckets()) + 1;
  for (auto* array : {&series->alloc_bytes, &series->alloc_count, &series->free_bytes, &series->free_count,
                      &series->surv_bytes, &series->surv_count}) {
    array->assign(length, 0.0);
  }
  series->object_bytes = site.bytes_in_steps > 0 ? site.squared_bytes_in_steps / site.bytes_in_steps : 0;
  series->surv_variance.assign(site.is_sampled ? length : 0, 0.0);
  series->surv_records.assign(site.is_sampled ? length : 0, 0.0);
  for (size_t i = 0; i < site.cells.size(); ++i) {
    const size_t bucket = static_cast<size_t>(site.first_bucket) + i;
    const Cell& cell = site.cells[i];
    series->alloc_bytes[bucket] = cell.alloc_bytes;
    series->alloc_count[bucket] = cell.alloc_count;
    series->free_bytes[bucket] = cell.free_bytes;
    series->free_count[bucket] = cell.free_count;
    const bool empty =
        cell.surv_bytes < 0.5;  // what rounding leaves of weights that were added and taken away
    series->surv_bytes[bucket] = empty ? 0 : cell.surv_bytes;
    series->surv_count[bucket] = empty ? 0 : cell.surv_count;
    if (site.is_sampled) {
      series->surv_variance[bucket] = cell.surv_variance;
      series->surv_records[bucket] = empty ? 0 : cell.surv_records;
    }
  }
  // Ages were counted in steps; with w steps a bucket, an age of w or more moves down log2(w) places, and a
  // smaller one crosses into the next bucket with a probability of age / w.
  series->death_bytes.fill(0);
  series->death_count.fill(0);
  const int shift = std::countr_zero(static_cast<uint64_t>(bucket_steps_));
  for (int j = 0; j < kAgeBuckets; ++j) {
    if (j > shift || shift == 0) {
      series->death_bytes[j - shift] += site.death_bytes[j];
      series->death_count[j - shift] += site.death_count[j];
      continue;
    }
    const double middle = j == 0 ? 0 : 0.75 * std::exp2(j) - 0.5;
    const double crossing = middle / static_cast<double>(bucket_steps_);
    series->death_bytes[1] += crossing * site.death_bytes[j];
    series->death_count[1] += crossing * site.death_count[j];
    series->death_bytes[0] += (1 - crossing) * site.death_bytes[j];
    series->death_count[0] += (1 - crossing) * site.death_count[j];
  }
}

SiteTraits SeriesAccumulator::Traits(size_t site_index) const {
  const Site& site = sites_[site_index];
  SiteTraits traits;
  std::vector<double> freed;
  double freed_sum = 0;
  for (const Cell& cell : site.cells) {
    traits.alloc_bytes += cell.alloc_bytes;
    traits.alloc_count += cell.alloc_count;
    traits.retained_bytes += cell.surv_bytes;
    traits.retained_count += cell.surv_count;
    traits.sampling_variance += cell.surv_variance;
    freed.push_back(cell.free_bytes);
    freed_sum += cell.free_bytes;
  }
  traits.peak_bytes = site.peak_bytes;
  traits.temporary_bytes = site.temporary_bytes;
  int bits = 0;
  for (uint64_t word : site.size_keys) bits += std::popcount(word);
  traits.distinct_sizes = bits >= 256 ? 256 * std::log(256.0) : -256 * std::log1p(-bits / 256.0);
  if (traits.alloc_bytes > 0) traits.new_size_share = site.new_size_bytes / traits.alloc_bytes;
  if (traits.alloc_count > 0) traits.power_of_two_share = site.power_of_two_count / traits.alloc_count;
  if (site.pairable_count > 0) traits.eviction_share = site.paired_count / site.pairable_count;
  if (freed_sum > 0) {
    const size_t busiest = std::max<size_t>(1, freed.size() / 20);
    std::partial_sort(freed.begin(), freed.begin() + busiest, freed.end(), std::greater<>());
    double sum = 0;
    for (size_t i = 0; i < busiest; ++i) sum += freed[i];
    traits.burst_free_share = sum / freed_sum;
  }
  if (site.phases) traits.retained_by_phase = *site.phases;
  return traits;
}

}  // namespace plateau::series

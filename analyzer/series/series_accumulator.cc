#include "analyzer/series/series_accumulator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace plateau::series {
namespace {

constexpr int64_t kOldSteps = 2;  // a block that lives this long is not churn

// Sizes come from traces: any number may be there.
uint64_t Whole(double bytes) { return static_cast<uint64_t>(std::clamp(bytes, 0.0, 0x1p53)); }

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

SeriesAccumulator::Cell& SeriesAccumulator::CellAt(Site& site, int64_t bucket) {
  std::vector<Cell>& cells = site.cells;
  // The last one, or a new one behind it, is what is nearly always asked for.
  auto it = cells.end();
  if (!cells.empty() && cells.back().bucket >= bucket) {
    --it;
    if (it->bucket != bucket) {
      it = std::lower_bound(cells.begin(), it, bucket, [](const Cell& c, int64_t b) { return c.bucket < b; });
    }
    if (it->bucket == bucket) return *it;
  }
  has_new_cells_ = true;
  site.now_step = -1;
  ++cells_in_use_;
  const auto place = it - cells.begin();
  if (cells.size() == cells.capacity()) cells.reserve(cells.size() + 1 + cells.size() / 4);
  Cell cell;
  cell.bucket = static_cast<int32_t>(bucket);
  return *cells.insert(cells.begin() + place, cell);
}

// Pairs of buckets (1,2), (3,4), ... become one; bucket 0 stays alone.
void SeriesAccumulator::Coarsen() {
  cells_in_use_ = 0;
  for (Site& site : sites_) {
    size_t kept = 0;
    for (Cell& cell : site.cells) {
      cell.bucket = static_cast<int32_t>(BucketOfStep(cell.bucket, 2));
      if (kept == 0 || site.cells[kept - 1].bucket != cell.bucket) {
        site.cells[kept++] = cell;
        continue;
      }
      Cell& into = site.cells[kept - 1];
      into.alloc += cell.alloc;
      into.freed += cell.freed;
      into.surv += cell.surv;
      into.surv_variance += cell.surv_variance;
      into.surv_records += cell.surv_records;
    }
    site.cells.resize(kept);
    site.cells.shrink_to_fit();
    site.now_step = -1;
    cells_in_use_ += kept;
  }
  bucket_steps_ *= 2;
  ++width_shift_;
}

void SeriesAccumulator::EndStep(Site& site, int64_t next_step) {
  const double allocs = site.births_now;
  const double paired = std::min(site.old_frees_now, allocs);
  if (site.old_block_died) {
    site.paired_count += paired;
    site.pairable_count += allocs;
  }
  if (site.old_frees_now > 0) site.old_block_died = true;
  site.current_step = next_step;
  site.old_frees_now = site.births_now = 0;
}

void SeriesAccumulator::Turn(Site& site, int64_t step, int64_t bucket) {
  BeginStep(site, step);
  site.now = &CellAt(site, bucket);
  site.now_step = step;
}

SeriesAccumulator::Site& SeriesAccumulator::SiteAt(uint32_t site_id, int64_t step) {
  Site& site = At(site_id);
  if (site.now_step != step) Turn(site, step, BucketOf(step));
  return site;
}

void SeriesAccumulator::Add(uint32_t site_id, const replay::SiteTally& tally, int64_t step) {
  MakeRoom(step);
  Site& site = SiteAt(site_id, step);
  if (tally.has_run()) EndOlder(site, tally.run, tally.run_birth, step);
  Cell& cell = *site.now;
  cell.alloc += tally.alloc;
  cell.freed += tally.temporary;
  const Amount left = cell.surv + tally.alloc - tally.temporary;
  cell.surv = left > 0 ? left : Amount{};
  site.deaths[0] += tally.temporary;
  site.temporary_bytes += tally.temporary[kBytes];
  site.peak_bytes = std::max(site.peak_bytes, site.live_bytes + tally.high_bytes);
  site.live_bytes += tally.change_bytes;
  site.births_now += tally.alloc[kObjects];
  site.power_of_two_count += tally.power_of_two_count;
  site.new_size_bytes += tally.new_size_bytes;
  site.sizes.Add(tally.sizes);
  if (step >= 1) {
    site.bytes_in_steps += Amount{tally.alloc[kBytes] - tally.grown_bytes, tally.square_bytes};
  }
  KeepWithinBudget();
}

void SeriesAccumulator::Add(std::span<const replay::DeathRun> runs, int64_t step) {
  MakeRoom(step);
  for (const replay::DeathRun& run : runs) EndOlder(SiteAt(run.site, step), run.died, run.birth, step);
}

// Objects that were born in a step before this one.
void SeriesAccumulator::EndOlder(Site& site, const Amount& died, int64_t birth, int64_t step) {
  Cell* cell = &CellAt(site, BucketOf(birth));
  if (site.now_step != step) [[unlikely]] {  // the cells have moved
    Turn(site, step, BucketOf(step));
    cell = &CellAt(site, BucketOf(birth));
  }
  const Amount left = cell->surv - died;
  cell->surv = left > 0 ? left : Amount{};
  site.now->freed += died;
  const int64_t age = std::max<int64_t>(0, step - birth);
  site.deaths[static_cast<size_t>(AgeBucket(static_cast<uint64_t>(age)))] += died;
  if (age >= kOldSteps) site.old_frees_now += died[kObjects];
}

void SeriesAccumulator::Add(std::span<const replay::SampledChange> changes, int64_t step) {
  MakeRoom(step);
  for (const replay::SampledChange& c : changes) {
    Site& site = At(c.site);
    if (!site.is_sampled) BeginSampling(site);
    NoteSample(CellAt(site, BucketOf(c.birth)), c.bytes, c.is_object ? 1 : 0, c.weight, c.is_birth);
  }
}

void SeriesAccumulator::KeepWithinBudget() {
  if (!has_new_cells_) return;
  has_new_cells_ = false;
  while (IsOverfull()) Coarsen();
}

// A sampled site also knows how many records its survivors are, and what sampling adds to their variance.
void SeriesAccumulator::NoteSample(Cell& cell, double bytes, double count, double weight, bool is_birth) {
  const auto variance = weight > 1 ? static_cast<float>(bytes * bytes * weight * (weight - 1)) : 0.0f;
  const auto records = static_cast<float>(count);
  if (is_birth) {
    cell.surv_records += records;
    cell.surv_variance += variance;
  } else {
    cell.surv_records -= std::min(cell.surv_records, records);
    cell.surv_variance = std::max(0.0f, cell.surv_variance - variance);
  }
}

// Until now each record was one object.
void SeriesAccumulator::BeginSampling(Site& site) {
  site.is_sampled = true;
  for (Cell& cell : site.cells) cell.surv_records = static_cast<float>(cell.surv[kObjects]);
}

void SeriesAccumulator::OnAlloc(uint32_t site, double bytes, double weight, int64_t step) {
  replay::SiteTally tally;
  tally.sizes = At(site).sizes;
  tally.Born(Whole(bytes), weight, /*is_object=*/true);
  const auto birth = static_cast<uint32_t>(step);
  One(site, tally, {bytes, weight, site, birth, /*is_object=*/true, /*is_birth=*/true}, step);
}

void SeriesAccumulator::OnFree(uint32_t site, int64_t birth_step, double bytes, double weight, int64_t step,
                               bool is_object) {
  const auto birth = static_cast<uint32_t>(std::max<int64_t>(0, birth_step));
  replay::SiteTally tally;
  tally.run_birth = birth;
  tally.Died(Whole(bytes), weight, is_object, /*is_temporary=*/birth == step);
  One(site, tally, {bytes, weight, site, birth, is_object, /*is_birth=*/false}, step);
}

void SeriesAccumulator::OnGrow(uint32_t site, double more_bytes, double weight, int64_t step) {
  replay::SiteTally tally;
  tally.Born(Whole(more_bytes), weight, /*is_object=*/false);
  const auto birth = static_cast<uint32_t>(step);
  One(site, tally, {more_bytes, weight, site, birth, /*is_object=*/false, /*is_birth=*/true}, step);
}

void SeriesAccumulator::OnShrink(uint32_t site_id, int64_t birth_step, double fewer_bytes, double weight,
                                 int64_t step) {
  OnFree(site_id, birth_step, fewer_bytes, weight, step, /*is_object=*/false);
}

void SeriesAccumulator::One(uint32_t site, const replay::SiteTally& tally,
                            const replay::SampledChange& change, int64_t step) {
  if (change.weight > 1 || At(site).is_sampled) Add({&change, 1}, step);
  Add(site, tally, step);
}

void SeriesAccumulator::OnTotals(uint32_t site_id, const Totals& totals, int64_t step) {
  MakeRoom(step);
  Site& site = At(site_id);
  BeginStep(site, step);
  site.births_now += totals.alloc_count;
  if (step >= 1 && totals.alloc_count > 0) {
    site.bytes_in_steps +=
        Amount{totals.alloc_bytes, totals.alloc_bytes * (totals.alloc_bytes / totals.alloc_count)};
  }
  if (totals.weight > 1 && !site.is_sampled) BeginSampling(site);
  Cell& cell = CellAt(site, BucketOf(step));
  cell.alloc += Amount{totals.alloc_bytes, totals.alloc_count};
  cell.freed += Amount{totals.free_bytes, totals.free_count};
  site.live_bytes += totals.alloc_bytes - totals.free_bytes;
  site.peak_bytes = std::max(site.peak_bytes, site.live_bytes);
  // What was born and died between the same two totals is taken for temporary.
  const double kept_bytes = totals.alloc_bytes - totals.free_bytes;
  const double kept_count = totals.alloc_count - totals.free_count;
  const double temporary = std::min(totals.alloc_bytes, totals.free_bytes);
  site.temporary_bytes += temporary;
  site.deaths[0] += Amount{temporary, std::min(totals.alloc_count, totals.free_count)};
  if (kept_bytes >= 0) {
    cell.surv += Amount{kept_bytes, std::max(0.0, kept_count)};
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
  const int64_t last_bucket = BucketOf(step);
  for (auto it = site.cells.rbegin(); it != site.cells.rend() && bytes > 0; ++it) {
    Cell& cell = *it;
    if (cell.bucket > last_bucket || cell.surv[kBytes] <= 0) continue;
    const double taken = std::min(bytes, cell.surv[kBytes]);
    const double left = 1 - taken / cell.surv[kBytes];
    const uint64_t age = static_cast<uint64_t>(step - std::min(step, cell.bucket * bucket_steps_));
    site.deaths[static_cast<size_t>(AgeBucket(age))] += Amount{taken, cell.surv[kObjects] * (1 - left)};
    cell.surv = Amount{cell.surv[kBytes] - taken, cell.surv[kObjects] * left};
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
  series->object_bytes = site.bytes_in_steps[0] > 0 ? site.bytes_in_steps[1] / site.bytes_in_steps[0] : 0;
  series->surv_variance.assign(site.is_sampled ? length : 0, 0.0);
  series->surv_records.assign(site.is_sampled ? length : 0, 0.0);
  for (const Cell& cell : site.cells) {
    const size_t bucket = static_cast<size_t>(cell.bucket);
    series->alloc_bytes[bucket] = cell.alloc[kBytes];
    series->alloc_count[bucket] = cell.alloc[kObjects];
    series->free_bytes[bucket] = cell.freed[kBytes];
    series->free_count[bucket] = cell.freed[kObjects];
    const bool empty =
        cell.surv[kBytes] < 0.5;  // what rounding leaves of weights that were added and taken away
    series->surv_bytes[bucket] = empty ? 0 : cell.surv[kBytes];
    series->surv_count[bucket] = empty ? 0 : cell.surv[kObjects];
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
      series->death_bytes[j - shift] += site.deaths[j][kBytes];
      series->death_count[j - shift] += site.deaths[j][kObjects];
      continue;
    }
    const double middle = j == 0 ? 0 : 0.75 * std::exp2(j) - 0.5;
    const double crossing = middle / static_cast<double>(bucket_steps_);
    series->death_bytes[1] += crossing * site.deaths[j][kBytes];
    series->death_count[1] += crossing * site.deaths[j][kObjects];
    series->death_bytes[0] += (1 - crossing) * site.deaths[j][kBytes];
    series->death_count[0] += (1 - crossing) * site.deaths[j][kObjects];
  }
}

SiteTraits SeriesAccumulator::Traits(size_t site_index) const {
  const Site& site = sites_[site_index];
  SiteTraits traits;
  std::vector<double> freed;
  freed.reserve(site.cells.size());
  double freed_sum = 0;
  for (const Cell& cell : site.cells) {
    traits.alloc_bytes += cell.alloc[kBytes];
    traits.alloc_count += cell.alloc[kObjects];
    traits.retained_bytes += cell.surv[kBytes];
    traits.retained_count += cell.surv[kObjects];
    traits.sampling_variance += cell.surv_variance;
    freed.push_back(cell.freed[kBytes]);
    freed_sum += cell.freed[kBytes];
  }
  traits.peak_bytes = site.peak_bytes;
  traits.temporary_bytes = site.temporary_bytes;
  traits.distinct_sizes = site.sizes.Estimate();
  if (traits.alloc_bytes > 0) traits.new_size_share = site.new_size_bytes / traits.alloc_bytes;
  if (traits.alloc_count > 0) traits.power_of_two_share = site.power_of_two_count / traits.alloc_count;
  if (site.pairable_count > 0) traits.eviction_share = site.paired_count / site.pairable_count;
  if (freed_sum > 0) {
    // Of all buckets from its first to its last; in those without a cell nothing was freed.
    const auto lifetime = static_cast<size_t>(site.cells.back().bucket - site.cells.front().bucket) + 1;
    const size_t busiest = std::min(freed.size(), std::max<size_t>(1, lifetime / 20));
    std::partial_sort(freed.begin(), freed.begin() + busiest, freed.end(), std::greater<>());
    double sum = 0;
    for (size_t i = 0; i < busiest; ++i) sum += freed[i];
    traits.burst_free_share = sum / freed_sum;
  }
  if (site.phases) traits.retained_by_phase = *site.phases;
  return traits;
}

}  // namespace plateau::series

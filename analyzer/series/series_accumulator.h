// Turns the allocations and frees of a run, in the order of their steps, into one series per call site.
//
//   SeriesAccumulator series({.max_buckets = 1024});
//   series.OnAlloc(site, bytes, weight, step);             // all four are to be remembered with the block
//   series.OnFree(site, birth_step, bytes, weight, step);
//   ...
//   series.Finish(last_step);
//   SiteSeries s; series.Load(site, &s);                         // in buckets of series.bucket_steps() steps
//
// Steps: 0 is everything before the first step. Do not feed what happens after the last step (teardown frees
// everything and would erase the evidence). Sites are small dense numbers chosen by the caller. Realloc:
// growth keeps the birth of the old bytes, OnGrow() adds the difference as born now; shrinking is OnShrink().
// The object count stays. A later OnFree() names each piece with its own birth step; the first with
// `is_object`, the others not. Sampling: `weight` is 1 / (probability that the block was recorded). Sums are
// unbiased, and the variance sampling adds is kept per bucket, so that intervals can be widened. Memory: 64
// bytes per site and touched bucket, at most max_buckets buckets a site and max_bytes in all: when either is
// exceeded, neighbouring buckets of all sites are merged in pairs. bucket_steps() says how many steps share a
// bucket; the verdict knows. Thread-compatible: one writer; Load() of a finished accumulator may be called
// from several threads.
#ifndef PLATEAU_ANALYZER_SERIES_SERIES_ACCUMULATOR_H_
#define PLATEAU_ANALYZER_SERIES_SERIES_ACCUMULATOR_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analyzer/replay/site_tally.h"
#include "analyzer/series/run_context.h"
#include "analyzer/series/site_series.h"
#include "analyzer/series/site_traits.h"

namespace plateau::series {

class SeriesAccumulator final : public SiteSeriesSource {
 public:
  struct Options {
    int64_t max_buckets = 1024;
    size_t max_bytes = size_t{320} << 20;
  };

  SeriesAccumulator() : SeriesAccumulator(Options{}) {}
  explicit SeriesAccumulator(const Options& options) : options_(options) {}

  void OnAlloc(uint32_t site, double bytes, double weight, int64_t step);
  void OnFree(uint32_t site, int64_t birth_step, double bytes, double weight, int64_t step,
              bool is_object = true);
  void OnGrow(uint32_t site, double more_bytes, double weight, int64_t step);
  void OnShrink(uint32_t site, int64_t birth_step, double fewer_bytes, double weight, int64_t step);

  // The same as sums of many changes within one step; quicker. See replay::ReplayObserver.
  void Add(uint32_t site, const replay::SiteTally& tally, int64_t step);
  void Add(std::span<const replay::DeathRun> runs, int64_t step);
  void Add(std::span<const replay::SampledChange> changes, int64_t step);

  // What a site did in a step that may be over, where only totals are known: of blocks of which each recorded
  // one stands for `weight`. More deaths than births end the youngest of those that were there.
  struct Totals {
    double alloc_bytes;
    double alloc_count;
    double free_bytes;
    double free_count;
    double weight;
  };
  void OnTotals(uint32_t site, const Totals& totals, int64_t step);

  // Optional, at the end: `bytes` (weighted) of the site's survivors were born in `phase`.
  void OnSurvivor(uint32_t site, BirthPhase phase, double bytes);

  // Call once after the last event. Every series then has buckets up to last_step.
  void Finish(int64_t last_step);

  int64_t bucket_steps() const { return bucket_steps_; }
  int64_t buckets() const { return BucketOfStep(last_step_, bucket_steps_); }
  size_t memory_bytes() const { return cells_in_use_ * sizeof(Cell) + sites_.size() * sizeof(Site); }

  size_t site_count() const override { return sites_.size(); }
  void Load(size_t site, SiteSeries* series) const override;
  SiteTraits Traits(size_t site) const;

 private:
  using Amount = replay::Amount;
  static constexpr int kBytes = replay::kBytes;
  static constexpr int kObjects = replay::kObjects;

  struct Cell {
    Amount alloc = {};
    Amount freed = {};
    Amount surv = {};
    // Kept only for sites that are sampled.
    float surv_variance = 0;
    float surv_records = 0;
    int32_t bucket = 0;
  };
  static_assert(sizeof(Cell) == 64);

  struct Site {
    int64_t now_step = -1;  // for which `now` is the cell; -1: for none
    Cell* now = nullptr;
    bool is_sampled = false;
    double live_bytes = 0;
    double peak_bytes = 0;
    double temporary_bytes = 0;
    double new_size_bytes = 0;
    double births_now = 0;  // allocations of this step
    double power_of_two_count = 0;
    Amount bytes_in_steps = {};  // allocated since the first step; each weighted with its object's size
    replay::SizeSet sizes;
    std::array<Amount, kAgeBuckets> deaths{};  // by age in steps
    std::vector<Cell> cells;                   // of the buckets in which it did something, in their order
    // Eviction pairing: old blocks that died and new ones that came in the same step.
    int64_t current_step = -1;
    double old_frees_now = 0;
    double paired_count = 0;
    double pairable_count = 0;  // allocations since the first old block died
    bool old_block_died = false;
    std::unique_ptr<std::array<double, kBirthPhases>> phases;
  };

  Site& At(uint32_t site) {
    if (site >= sites_.size()) [[unlikely]]
      sites_.resize(site + 1);
    return sites_[site];
  }
  int64_t BucketOf(int64_t step) const { return step <= 0 ? 0 : (step + bucket_steps_ - 1) >> width_shift_; }
  // The cell of a bucket, which may be new: then the others may have moved.
  Cell& CellAt(Site& site, int64_t bucket);
  void BeginStep(Site& site, int64_t step) {
    if (step != site.current_step) [[unlikely]]
      EndStep(site, step);
  }
  // Makes `now` the cell of `step`.
  void Turn(Site& site, int64_t step, int64_t bucket);
  void EndStep(Site& site, int64_t next_step);
  void EndYoungest(Site& site, double bytes, int64_t step);
  static void NoteSample(Cell& cell, double bytes, double count, double weight, bool is_birth);
  void BeginSampling(Site& site);
  // The site, ready for changes of `step`.
  Site& SiteAt(uint32_t site, int64_t step);
  void EndOlder(Site& site, const Amount& died, int64_t birth, int64_t step);
  void One(uint32_t site, const replay::SiteTally& tally, const replay::SampledChange& change, int64_t step);
  void KeepWithinBudget();
  void MakeRoom(int64_t step) {
    if (step > last_step_) MakeRoomUpTo(step);
  }
  void MakeRoomUpTo(int64_t step);
  bool IsOverfull() const {
    return cells_in_use_ * sizeof(Cell) > options_.max_bytes && buckets() > kFewestBuckets;
  }
  void Coarsen();

  static constexpr int64_t kFewestBuckets = 64;

  Options options_;
  int64_t bucket_steps_ = 1;  // a power of two:
  int width_shift_ = 0;       // of this one
  int64_t last_step_ = 0;
  size_t cells_in_use_ = 0;
  bool has_new_cells_ = false;  // since it was last asked whether there are too many
  std::vector<Site> sites_;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_SERIES_ACCUMULATOR_H_

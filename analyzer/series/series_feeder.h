// Hands what the replay tells of sites to those who keep their series.
#ifndef PLATEAU_ANALYZER_SERIES_SERIES_FEEDER_H_
#define PLATEAU_ANALYZER_SERIES_SERIES_FEEDER_H_

#include <cstdint>
#include <span>

#include "analyzer/replay/heap_replay.h"
#include "analyzer/series/series_accumulator.h"
#include "analyzer/series/tensor_series.h"

namespace plateau::series {

class SeriesFeeder final : public replay::ReplayObserver {
 public:
  // Both must outlive this object.
  SeriesFeeder(SeriesAccumulator* series, TensorSeries* tensors) : series_(*series), tensors_(*tensors) {}

  void OnTally(uint32_t site, const replay::SiteTally& tally, uint32_t bucket) override {
    series_.Add(site, tally, bucket);
  }
  void OnDeaths(std::span<const replay::DeathRun> runs, uint32_t bucket) override {
    series_.Add(runs, bucket);
  }
  void OnSampled(std::span<const replay::SampledChange> changes, uint32_t bucket) override {
    series_.Add(changes, bucket);
  }
  void OnFolded(uint32_t site, const replay::FoldedPart& part, double weight) override {
    series_.OnTotals(site, {part.alloc_bytes, part.alloc_count, part.free_bytes, part.free_count, weight},
                     part.bucket);
  }
  void OnTensor(uint32_t site, double count, double bytes, uint32_t bucket) override {
    tensors_.OnTensor(site, count, count * bytes, bucket);
  }

 private:
  SeriesAccumulator& series_;
  TensorSeries& tensors_;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_SERIES_FEEDER_H_

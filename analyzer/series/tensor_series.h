// Live tensors by step and site: how many there are and what they hold at the end of each step.
//
//   TensorSeries tensors;
//   tensors.OnTensor(site, +1, bytes, step);     // a storage became a tensor's
//   tensors.OnTensor(site, -1, -bytes, step);    // and is one no longer
//   tensors.Levels(site, bucket_steps, buckets)  // in the buckets of the sites' other series
//
// Feed in the order of steps, nothing after the last one. Amounts may be weights of samples.
// Memory: 24 bytes per site and touched bucket, at most kMaxBuckets buckets a site: beyond, neighbouring
// buckets are merged in pairs, as SeriesAccumulator does. Not thread-safe.
#ifndef PLATEAU_ANALYZER_SERIES_TENSOR_SERIES_H_
#define PLATEAU_ANALYZER_SERIES_TENSOR_SERIES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plateau::series {

// One entry per bucket 0..buckets, at its end.
struct TensorLevels {
  std::vector<double> count;
  std::vector<double> bytes;

  bool empty() const { return count.empty(); }
};

class TensorSeries {
 public:
  static constexpr int64_t kMaxBuckets = 1024;

  void OnTensor(uint32_t site, double count, double bytes, int64_t step);

  // Empty for a site that never had a tensor. `bucket_steps` is a power of two, not below bucket_steps().
  TensorLevels Levels(size_t site, int64_t bucket_steps, int64_t buckets) const;

  size_t site_count() const { return sites_.size(); }
  int64_t bucket_steps() const { return bucket_steps_; }

 private:
  struct Change {
    int64_t bucket;
    double count;
    double bytes;
  };
  void Coarsen();

  std::vector<std::vector<Change>> sites_;  // ascending by bucket
  int64_t bucket_steps_ = 1;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_TENSOR_SERIES_H_

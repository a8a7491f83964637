#include "analyzer/series/tensor_series.h"

#include <algorithm>

#include "analyzer/series/run_context.h"

namespace plateau::series {

void TensorSeries::OnTensor(uint32_t site, double count, double bytes, int64_t step) {
  while (BucketOfStep(step, bucket_steps_) > kMaxBuckets) Coarsen();
  if (site >= sites_.size()) sites_.resize(site + 1);
  std::vector<Change>& changes = sites_[site];
  const int64_t bucket = BucketOfStep(step, bucket_steps_);
  if (changes.empty() || changes.back().bucket != bucket) changes.push_back({bucket, 0, 0});
  changes.back().count += count;
  changes.back().bytes += bytes;
}

void TensorSeries::Coarsen() {
  for (std::vector<Change>& changes : sites_) {
    size_t kept = 0;
    for (size_t i = 0; i < changes.size(); ++i) {
      const Change change = changes[i];
      const int64_t bucket = BucketOfStep(change.bucket, 2);
      if (kept > 0 && changes[kept - 1].bucket == bucket) {
        changes[kept - 1].count += change.count;
        changes[kept - 1].bytes += change.bytes;
      } else {
        changes[kept++] = {bucket, change.count, change.bytes};
      }
    }
    changes.resize(kept);
  }
  bucket_steps_ *= 2;
}

TensorLevels TensorSeries::Levels(size_t site, int64_t bucket_steps, int64_t buckets) const {
  TensorLevels levels;
  if (site >= sites_.size() || sites_[site].empty()) return levels;
  const int64_t ratio = std::max<int64_t>(1, bucket_steps / bucket_steps_);
  levels.count.resize(static_cast<size_t>(buckets) + 1);
  levels.bytes.resize(static_cast<size_t>(buckets) + 1);
  for (const Change& change : sites_[site]) {
    const size_t bucket = static_cast<size_t>(std::min(BucketOfStep(change.bucket, ratio), buckets));
    levels.count[bucket] += change.count;
    levels.bytes[bucket] += change.bytes;
  }
  for (size_t bucket = 1; bucket < levels.count.size(); ++bucket) {
    levels.count[bucket] += levels.count[bucket - 1];
    levels.bytes[bucket] += levels.bytes[bucket - 1];
  }
  return levels;
}

}  // namespace plateau::series

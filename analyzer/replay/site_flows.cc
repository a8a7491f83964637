#include "analyzer/replay/site_flows.h"

#include <algorithm>

namespace plateau::replay {

BucketFlow& SiteFlow::AtSlow(uint32_t bucket) {
  if (buckets.empty() || buckets.back().bucket < bucket) {
    buckets.push_back({.bucket = bucket});
    return buckets.back();
  }
  const auto it = std::lower_bound(buckets.begin(), buckets.end(), bucket,
                                   [](const BucketFlow& flow, uint32_t b) { return flow.bucket < b; });
  if (it != buckets.end() && it->bucket == bucket) return *it;
  return *buckets.insert(it, {.bucket = bucket});
}

void SiteFlow::Survived(uint32_t birth, double bytes, double count, double variance) {
  // Objects come in no order; a short unsorted tail is summed up before it grows long.
  constexpr size_t kTail = 4096;
  if (!survivors.empty() && survivors.back().bucket == birth) {
    survivors.back().bytes += bytes;
    survivors.back().count += count;
    survivors.back().variance += variance;
    return;
  }
  survivors.push_back({birth, bytes, count, variance});
  if (survivors.size() >= kTail && (survivors.size() & (survivors.size() - 1)) == 0) Finish();
}

void SiteFlow::Finish() {
  std::sort(survivors.begin(), survivors.end(),
            [](const Survivors& a, const Survivors& b) { return a.bucket < b.bucket; });
  size_t out = 0;
  for (size_t i = 0; i < survivors.size(); ++i) {
    if (out > 0 && survivors[out - 1].bucket == survivors[i].bucket) {
      survivors[out - 1].bytes += survivors[i].bytes;
      survivors[out - 1].count += survivors[i].count;
      survivors[out - 1].variance += survivors[i].variance;
    } else {
      survivors[out++] = survivors[i];
    }
  }
  survivors.resize(out);
}

}  // namespace plateau::replay

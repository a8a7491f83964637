#include "analyzer/replay/folded_totals.h"

#include <algorithm>
#include <numeric>

namespace plateau::replay {
namespace {

constexpr size_t kMostParts = 1024;  // as many as a series has buckets
constexpr double kCountUnit = 256;

}  // namespace

FoldedTotals::FoldedTotals(size_t buckets) {
  while (buckets / width_ > kMostParts) width_ *= 2;
}

void FoldedTotals::Add(const trace::FoldTotalsRecord& now, uint32_t bucket, Emit emit) {
  const auto [it, is_new] = known_.try_emplace(now.stack, Known{{}, first_bucket_});
  const Known last = it->second;
  if (now.alloc_count_256 < last.totals.alloc_count_256 || now.free_count_256 < last.totals.free_count_256 ||
      now.alloc_bytes < last.totals.alloc_bytes || now.free_bytes < last.totals.free_bytes) {
    return;
  }
  it->second = {now, bucket};
  const auto difference = [](uint64_t a, uint64_t b) { return static_cast<double>(a - b); };
  const FoldedPart whole = {
      now.stack,
      bucket,
      difference(now.alloc_count_256, last.totals.alloc_count_256) / kCountUnit,
      difference(now.alloc_bytes, last.totals.alloc_bytes),
      difference(now.free_count_256, last.totals.free_count_256) / kCountUnit,
      difference(now.free_bytes, last.totals.free_bytes),
  };
  if (whole.alloc_count == 0 && whole.free_count == 0) return;
  if (bucket <= last.bucket + 1) return emit(whole);
  const double buckets = bucket - last.bucket;
  for (uint64_t begin = last.bucket, end; begin < bucket; begin = end) {
    // Parts end at multiples of the width.
    end = std::min<uint64_t>(bucket, (begin / width_ + 1) * width_);
    const double share = static_cast<double>(end - begin) / buckets;
    emit({now.stack, static_cast<uint32_t>(end), whole.alloc_count * share, whole.alloc_bytes * share,
          whole.free_count * share, whole.free_bytes * share});
  }
}

void FoldedTotals::End(uint32_t bucket, Emit emit) {
  for (const trace::FoldTotalsRecord& row : rows_) Add(row, bucket, emit);
  rows_.clear();
}

void LateLevels::Add(uint32_t bucket, uint32_t now, double bytes) {
  if (bucket >= now) return;
  if (changes_.size() <= now) changes_.resize(now + 1);
  changes_[bucket] += bytes;
  changes_[now] -= bytes;
}

std::vector<double> LateLevels::Missing() const {
  std::vector<double> missing(changes_.size());
  std::partial_sum(changes_.begin(), changes_.end(), missing.begin());
  return missing;
}

}  // namespace plateau::replay

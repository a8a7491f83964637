// What stacks did while a trace held totals instead of events: the differences between totals, spread over
// the buckets in between.
//
// Nothing is known of the course between two totals of a stack, so it is drawn even: each bucket gets its
// share, as a fraction of an object where need be. In long runs neighbouring buckets share one part; they
// are the ones that SeriesAccumulator merges too, so its buckets stay even.
//
// Memory: 48 bytes per stack that has totals. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_FOLDED_TOTALS_H_
#define PLATEAU_ANALYZER_REPLAY_FOLDED_TOTALS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "preload/trace/record.h"

namespace plateau::replay {

// What one stack did in one bucket, sampled blocks with their weight.
struct FoldedPart {
  uint32_t stack = 0;
  uint32_t bucket = 0;
  double alloc_count = 0;
  double alloc_bytes = 0;
  double free_count = 0;
  double free_bytes = 0;
};

class FoldedTotals {
 public:
  using Emit = absl::FunctionRef<void(const FoldedPart& part)>;

  // `buckets`: of the whole run.
  explicit FoldedTotals(size_t buckets);

  // Totals begin at 0 in this bucket.
  void Begin(uint32_t bucket) { first_bucket_ = bucket; }

  // The totals of one stack as of `bucket`. Older ones than are known, which damage leaves, are ignored.
  void Add(const trace::FoldTotalsRecord& now, uint32_t bucket, Emit emit);

  // Totals as the recording left them: they belong to its end, which the caller knows.
  void KeepForEnd(const trace::FoldTotalsRecord& row) {
    if (row.stack != trace::kFoldRowOfGroups) rows_.push_back(row);
  }
  void End(uint32_t bucket, Emit emit);

 private:
  struct Known {
    trace::FoldTotalsRecord totals = {};
    uint32_t bucket = 0;
  };

  uint32_t width_ = 1;  // buckets of a part
  uint32_t first_bucket_ = 0;
  absl::flat_hash_map<uint32_t, Known> known_;  // by stack
  std::vector<trace::FoldTotalsRecord> rows_;
};

// Levels that were noted before the totals came that tell what they should have been.
class LateLevels {
 public:
  // `bytes` of `bucket` are added by totals that come in bucket `now`.
  void Add(uint32_t bucket, uint32_t now, double bytes);
  bool empty() const { return changes_.empty(); }
  // By bucket: what is missing from a level noted in it.
  std::vector<double> Missing() const;

 private:
  std::vector<double> changes_;  // from the bucket before
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_FOLDED_TOTALS_H_

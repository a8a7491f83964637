// The second half of the replay: keeps score of the changes per stack, site, bucket and pool.
//
// Calls everything in ReplayOptions (sites, observer, retained objects, device events) from the thread that
// calls Apply(). Memory: stacks and buckets. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_HEAP_ACCOUNTS_H_
#define PLATEAU_ANALYZER_REPLAY_HEAP_ACCOUNTS_H_

#include <array>
#include <cstdint>

#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/definitions.h"
#include "analyzer/replay/heap_change.h"
#include "analyzer/replay/heap_replay.h"
#include "analyzer/replay/rate_table.h"
#include "analyzer/replay/stack_totals.h"

namespace plateau::replay {

class HeapAccounts {
 public:
  // All must outlive this object.
  HeapAccounts(const reader::TraceReader& reader, const Definitions* definitions,
               const ReplayOptions* options);

  void Apply(const ChangeBatch& batch);
  // Call once after the last batch. The counters of the matcher are left at 0.
  ReplayResult Finish();

 private:
  void Tick(uint64_t tsc);
  void CloseBucket();
  void TakeRetained();
  std::array<double, kPools> PoolBytes() const;

  uint32_t RowOf(Pool pool, uint32_t node) {
    return totals_.RowOf(pool, node, definitions_.nodes, options_.site_of);
  }
  [[gnu::always_inline]] void Born(const Change& change, uint64_t bytes);
  [[gnu::always_inline]] void Died(const Change& change, uint64_t bytes);
  void AddToPool(Pool pool, double bytes);
  // Tells the observer, later and with others.
  void Observe(const SiteChange& change) {
    observed_[observed_size_] = change;
    if (++observed_size_ == observed_.size()) TellObserver();
  }
  void TellObserver();
  void Other(const Change& change, const ChangeBatch& batch);
  void Show(const Change& change, const ChangeDetail& detail);
  void Fold(const FoldedPart& part);
  void AddLateLevels();

  const Definitions& definitions_;
  const ReplayOptions& options_;
  RateTable rates_;
  ReplayResult result_;
  StackTotals totals_;
  bool has_retained_ = false;
  ReplayObserver* observer_;
  std::array<SiteChange, 256> observed_;  // the first observed_size_, all of this bucket
  size_t observed_size_ = 0;
  uint32_t bucket_ = 0;
  LateLevels late_;
  double folded_events_ = 0;
  double high_bytes_ = 0;    // most that was live since the last tick
  double reading_peak_ = 0;  // most before that tick, since the last reading
  double bucket_peak_ = 0;   // and since the bucket began
  double tensor_bytes_ = 0;
  double tensor_count_ = 0;
  size_t ledger_next_ = 0;
  size_t rate_next_ = 0;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_HEAP_ACCOUNTS_H_

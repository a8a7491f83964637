// The second half of the replay: keeps score of the changes per stack, site, bucket and pool.
//
// It calls everything in ReplayOptions (sites, observer, retained objects, device events) from the thread that
// calls Apply(). Memory: stacks and buckets. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_HEAP_ACCOUNTS_H_
#define PLATEAU_ANALYZER_REPLAY_HEAP_ACCOUNTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/change_queue.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/heap_replay.h"
#include "analyzer/replay/live_object.h"
#include "analyzer/replay/rate_table.h"
#include "analyzer/replay/site_tally.h"
#include "analyzer/replay/stack_rows.h"

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
  // The part of an era that counts here.
  struct BornIn {
    uint32_t birth;
    uint16_t source;  // SourceOf() its pool and rate
    uint8_t label;
  };
  static uint16_t SourceOf(Pool pool, uint8_t rate) {
    return static_cast<uint16_t>(static_cast<unsigned>(pool) << 8 | rate);
  }

  void Tick(uint64_t tsc);
  void CloseBucket();
  void TakeRetained();
  std::array<double, kPools> PoolBytes() const;

  uint32_t RowOf(Pool pool, uint32_t node) {
    return stacks_.RowOf(pool, node, definitions_.nodes,
                         [this](Pool p, uint32_t canonical) { return NewSite(p, canonical); });
  }
  uint32_t NewSite(Pool pool, uint32_t node);
  // Keeps what all rows hold, and those of one pool, in registers while a run of changes lasts.
  class Levels;
  // Applies words from `begin` on as long as they are plain objects of one pool and need nothing but
  // additions, as nearly all do. Returns the first other one.
  const uint64_t* ApplyPlain(const uint64_t* begin, const uint64_t* end) {
    return observer_ != nullptr ? ApplyPlainRun<true>(begin, end) : ApplyPlainRun<false>(begin, end);
  }
  template <bool kIsObserved>
  const uint64_t* ApplyPlainRun(const uint64_t* begin, const uint64_t* end);
  template <bool kIsObserved>
  [[gnu::always_inline]] bool TryBorn(uint32_t row, uint32_t bytes, Levels* levels);
  template <bool kIsObserved>
  [[gnu::always_inline]] bool TryDied(uint32_t row, uint32_t bytes, uint32_t birth, Levels* levels);
  // The change that the word of a plain object stands for.
  Change ChangeOf(PackedObject object) const;
  // Reports the retained objects that words from `begin` on list. Returns the first word that is no object.
  const uint64_t* ListPlain(const uint64_t* begin, const uint64_t* end);
  // Loads what words some places behind `c` need into the cache.
  [[gnu::always_inline]] void PrefetchBehind(const uint64_t* c, const uint64_t* end);
  // Applies any change.
  void ApplyOne(const Change& change, const ChangeBatch& batch);
  void AddToPool(Pool pool, double bytes);

  // The tally of a site, for a change that is about to be added to it; ApplyPlain() has a quicker way.
  // Null when nobody observes.
  SiteTally* TallyFor(const SampledChange& change);
  // Tell the observer the tally of one site, or everything.
  void ReportTally(uint32_t site);
  void ReportAll();
  void ReportDeaths();
  void ReportSampled();
  void ApplyOther(const Change& change, const ChangeBatch& batch);
  void ReportRetained(const Change& change, const ChangeDetail& detail);
  void ApplyFolded(const FoldedPart& part);
  void AddLateLevels();

  const Definitions& definitions_;
  const ReplayOptions& options_;
  RateTable rates_;
  ReplayResult result_;
  StackIndex stacks_;
  bool has_retained_ = false;
  bool is_listing_ = false;   // words list what is retained
  std::vector<BornIn> eras_;  // by number
  ReplayObserver* observer_;
  // What the observer will be told, all of this bucket.
  std::vector<SiteTally> tallies_;  // by site
  std::vector<uint32_t> touched_;   // sites whose tallies have changes
  std::vector<DeathRun> deaths_;
  std::vector<SampledChange> sampled_;
  uint32_t bucket_ = 0;
  LateLevels late_;
  double folded_events_ = 0;
  double live_bytes_ = 0;    // of all rows, now
  double peak_bytes_ = 0;    // the most of the whole run
  double high_bytes_ = 0;    // the most since the last tick
  double reading_peak_ = 0;  // the most from the last reading to the last tick
  double bucket_peak_ = 0;   // the most from the begin of the bucket to the last tick
  double tensor_bytes_ = 0;
  double tensor_count_ = 0;
  size_t ledger_next_ = 0;
  size_t rate_next_ = 0;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_HEAP_ACCOUNTS_H_

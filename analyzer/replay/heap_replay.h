// The second pass: replays every allocation and free in time order and keeps score per stack, site and
// bucket.
//
//   whoever has time      the caller's thread       a thread of its own
//   decode blocks   -->   match by address    -->   account per stack, site, bucket
//   EventSource           HeapMatcher               HeapAccounts
//
// Each hands on batches in order, so the result does not depend on the number of threads. Decoding is the
// only part that can be done out of order: it fills the time in which one half would wait for the other.
// All functions of ReplayOptions are called by the thread that accounts, one call at a time, and not after
// ReplayHeap() has returned.
//
// Rules, each with a test:
//   order      Alloc and free of one address alternate. An alloc of a live address means that its free is
//              late in the merge: the old object ends now and the late free is swallowed. A free of an
//              unknown address waits for its late alloc: whichever object lives there when no event of the
//              free's time can come any more was ended by it. Both happen only as far as the time stamps
//              allow it, and never against the order within one stream. docs/design/replay-order.md.
//   unknown    Frees that match nothing are counted ([freed elsewhere]): their objects are older than the
//              recording, or their allocations were lost.
//   realloc    A realloc is one object: old bytes keep their birth and site, the growth is born now at the
//              caller of realloc; shrinking ends the youngest bytes. Under sampling, where the two halves
//              were chosen independently, it is a free and an alloc.
//   mmap       Mappings are intervals of their own pools; pymalloc's arenas are not counted where their
//              contents are.
//   residency  Of large blocks and maps the bytes in memory count, see residency_book.h. Bytes that come into
//              memory are born then, at the place that made the block; its count stays with its first bytes.
//   sampling   Amounts are weighted, see rate_table.h.
//   fold       Events that the shim folded away arrive as sums per stack and bucket.
//
// Memory: live objects, stacks and sites; never events.
#ifndef PLATEAU_ANALYZER_REPLAY_HEAP_REPLAY_H_
#define PLATEAU_ANALYZER_REPLAY_HEAP_REPLAY_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/folded_totals.h"
#include "analyzer/replay/site_tally.h"
#include "analyzer/replay/stack_rows.h"

namespace plateau::replay {

// Is told what sites did, bucket by bucket. Several calls may come for one bucket.
class ReplayObserver {
 public:
  virtual ~ReplayObserver() = default;
  // What a site did since the last call for it, with its latest run of deaths; earlier runs come by
  // OnDeaths().
  virtual void OnTally(uint32_t site, const SiteTally& tally, uint32_t bucket) = 0;
  virtual void OnDeaths(std::span<const DeathRun> runs, uint32_t bucket) = 0;
  // Every change of a site that is sampled, from the first sampled one on; tallies and runs contain them too.
  // What happened before was told before.
  virtual void OnSampled(std::span<const SampledChange> changes, uint32_t bucket) = 0;
  // What a site did in a bucket that may be over, known from totals; each recorded block stood for `weight`.
  virtual void OnFolded(uint32_t site, const FoldedPart& part, double weight) = 0;
  // A block of `bytes` became (`count` above 0) or ceased to be (below 0) the storage of a tensor.
  virtual void OnTensor(uint32_t site, double count, double bytes, uint32_t bucket) {
    (void)site, (void)count, (void)bytes, (void)bucket;
  }
};

// An object that was live when the replay was asked to look.
struct LiveView {
  uint32_t row;  // index into ReplayResult::stacks
  uint32_t site;
  uint32_t birth;
  double bytes;     // weighted
  double count;     // weighted; 0 for a piece
  double variance;  // of bytes, from sampling
  bool is_tensor;
  uint8_t label;  // ReplayOptions::labels at its birth; kNoLabel when there were none, or for a mapping
  uint64_t object_bytes;    // of the object itself; 0 when sampling left out others like it
  uint64_t reserved_bytes;  // its size, where `object_bytes` are those in memory; 0 where they are its size
};

inline constexpr uint8_t kNoLabel = 255;

// What is born from `begin` on has this label, 0 to 14.
struct BirthLabel {
  uint64_t begin;
  uint8_t label;
};

// A block as it lies in memory.
struct PlacedBlock {
  uint64_t address;
  uint64_t bytes;
  double weight;  // how many such blocks it stands for
  uint32_t site;
  Pool pool;
};

struct ReplayOptions {
  // Times at which buckets 0, 1, ... end, ascending; what comes after the last is one more bucket.
  std::vector<uint64_t> bucket_ends;
  // What is retained is what lives when this bucket ends; later buckets (teardown) are replayed for the
  // totals and the timeline, but no longer observed. Defaults to the end of the trace.
  uint32_t last_bucket = UINT32_MAX;
  ReplayObserver* observer = nullptr;  // may be null
  // Called for everything live at the end of last_bucket. May be empty.
  std::function<void(const LiveView& object)> on_retained;
  // Moments, ascending, at which everything live is shown with its address; `moment` is an index into them.
  // For the pages that a forked child shares with this process.
  std::vector<uint64_t> snapshot_times;
  std::function<void(size_t moment, const PlacedBlock& block)> on_snapshot;
  // Called for everything live at the end of last_bucket, with its address: for all of it with `pass` 0, then
  // once more with 1. May be empty.
  std::function<void(int pass, const PlacedBlock& block)> on_ending;
  // Ascending in time: phases of the training loop. May be empty.
  std::vector<BirthLabel> labels;
  // Which site a stack belongs to, asked once per (pool, canonical node). Sites are numbered from 0.
  std::function<uint32_t(Pool pool, uint32_t node)> site_of;
  // Told of every device event in order, with the bucket it falls into. May be empty.
  std::function<void(const trace::DeviceRecord& record, uint64_t tsc, uint32_t bucket)> on_device;
  int threads = 0;  // for decoding; 0: what the machine has
};

struct BucketLevel {
  double live_bytes = 0;       // at the end of the bucket, all pools with rows
  double live_peak_bytes = 0;  // highest within it
  double tensor_bytes = 0;     // of live_bytes: storages of torch tensors
  double tensor_count = 0;
  std::array<double, kPools> pool_bytes{};
};

struct PoolLevel {
  double live_bytes = 0;
  double peak_bytes = 0;
};

struct LedgerLive {
  std::array<double, kPools> pool_bytes{};
  double live_peak_bytes = 0;  // highest since the reading before
  double tensor_bytes = 0;     // storages of torch tensors
  double tensor_count = 0;
};

struct ReplayResult {
  StackRows stacks;                  // live_bytes and live_count as of the end of last_bucket
  std::vector<BucketLevel> buckets;  // one per bucket
  std::vector<LedgerLive> ledger;    // one per reading of Definitions::ledger
  std::array<PoolLevel, kPools> pools{};
  double peak_bytes = 0;
  uint32_t peak_bucket = 0;
  uint64_t events = 0;
  uint64_t unknown_frees = 0;
  uint64_t late_frees = 0;     // order repaired
  uint64_t implied_frees = 0;  // of blocks whose address was given out again, and no free came
  uint64_t live_objects = 0;
  uint64_t live_table_bytes = 0;
  bool has_sampling = false;  // of requests of malloc
  uint64_t folded_events = 0;
  reader::ReadSummary damage;  // of blocks that the first pass did not read
};

ReplayResult ReplayHeap(const reader::TraceReader& reader, const Definitions& definitions,
                        const ReplayOptions& options);

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_HEAP_REPLAY_H_

#include "tests/analyzer/replay/replayed.h"

#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "tests/support/trace_text.h"

namespace plateau::replay {
namespace {

class FlowObserver : public ReplayObserver {
 public:
  explicit FlowObserver(Replayed* out) : out_(*out) {}
  void OnTally(uint32_t site, const SiteTally& tally, uint32_t bucket) override {
    Flow& flow = out_.flows[{site, bucket}];
    flow.alloc_bytes += tally.alloc[kBytes];
    flow.free_bytes += tally.temporary[kBytes];
    if (tally.temporary[kObjects] != 0) out_.deaths[0] += tally.temporary[kObjects];
    if (tally.has_run()) Died({tally.run, site, tally.run_birth}, bucket);
    level_[site].high = std::max(level_[site].high, level_[site].now + tally.high_bytes);
    level_[site].now += tally.change_bytes;
    out_.site_peaks[site] = level_[site].high;
  }
  void OnDeaths(std::span<const DeathRun> runs, uint32_t bucket) override {
    for (const DeathRun& run : runs) Died(run, bucket);
  }
  void OnSampled(std::span<const SampledChange> changes, uint32_t) override {
    for (const SampledChange& change : changes) {
      out_.sampled[{change.site, change.birth}] += (change.is_birth ? 1 : -1) * (change.is_object ? 1 : 0);
    }
  }

  void OnFolded(uint32_t site, const FoldedPart& part, double) override {
    out_.flows[{site, part.bucket}].alloc_bytes += part.alloc_bytes;
    out_.flows[{site, part.bucket}].free_bytes += part.free_bytes;
  }

 private:
  struct Level {
    double now = 0, high = 0;
  };
  void Died(const DeathRun& run, uint32_t bucket) {
    out_.flows[{run.site, bucket}].free_bytes += run.died[kBytes];
    if (run.died[kObjects] != 0) out_.deaths[bucket - run.birth] += run.died[kObjects];
  }

  Replayed& out_;
  std::map<uint32_t, Level> level_;  // by site
};

}  // namespace

uint32_t SiteOf(Pool pool, uint32_t node) { return node + 100 * static_cast<uint32_t>(pool); }

Replayed Replay(const std::string& text, std::vector<uint64_t> bucket_ends, uint32_t last_bucket,
                int threads) {
  const std::string path = testing::WriteTemporary("replay.plt", testing::TraceFromText(kNodes + text));
  const auto reader = reader::TraceReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  const auto definitions = CollectDefinitions(**reader, threads);
  Replayed replayed;
  FlowObserver observer(&replayed);
  ReplayOptions options;
  options.bucket_ends = std::move(bucket_ends);
  options.last_bucket = last_bucket;
  options.observer = &observer;
  options.site_of = SiteOf;
  options.threads = threads;
  options.on_retained = [&](const LiveView& object) { replayed.retained.push_back(object); };
  static_cast<ReplayResult&>(replayed) = ReplayHeap(**reader, *definitions, options);
  for (const LiveView& object : replayed.retained) {
    Survivors& s = replayed.survivors[{replayed.stacks[object.row].site, object.birth}];
    s.bytes += object.bytes;
    s.count += object.count;
    s.variance += object.variance;
    s.tensors += object.is_tensor ? object.count : 0;
  }
  // What is retained is the same whichever way it is counted.
  double rows = 0, births = 0, flows = 0;
  for (const StackRow& row : replayed.stacks) rows += row.live_bytes;
  for (const auto& [key, s] : replayed.survivors) births += s.bytes;
  for (const auto& [key, flow] : replayed.flows) flows += flow.alloc_bytes - flow.free_bytes;
  EXPECT_NEAR(rows, flows, 1e-6 * (1 + rows));
  if (replayed.folded_events == 0) {
    EXPECT_NEAR(rows, births, 1e-6 * (1 + rows));
  }
  return replayed;
}

double Live(const ReplayResult& result, uint32_t site) {
  double bytes = 0;
  for (const StackRow& row : result.stacks) bytes += row.site == site ? row.live_bytes : 0;
  return bytes;
}

double LiveCount(const ReplayResult& result, uint32_t site) {
  double count = 0;
  for (const StackRow& row : result.stacks) count += row.site == site ? row.live_count : 0;
  return count;
}

double Survived(const Replayed& result, uint32_t site, uint32_t birth) {
  const auto it = result.survivors.find({site, birth});
  return it == result.survivors.end() ? 0 : it->second.bytes;
}

std::string Replayed::Fingerprint() const {
  std::string out = absl::StrFormat("events %d unknown %d late %d live %d peak %a in %d\n", events,
                                    unknown_frees, late_frees, live_objects, peak_bytes, peak_bucket);
  for (const StackRow& r : stacks) {
    absl::StrAppendFormat(&out, "row %d %d %d: %a %a %a %a %a %a %a\n", r.node, r.site,
                          static_cast<int>(r.pool), r.live_bytes, r.live_count, r.peak_bytes, r.alloc_bytes,
                          r.alloc_count, r.free_count, r.temporary_bytes);
  }
  for (const BucketLevel& b : buckets) {
    absl::StrAppendFormat(&out, "bucket %a %a %a %a\n", b.live_bytes, b.live_peak_bytes, b.tensor_bytes,
                          b.tensor_count);
  }
  for (const auto& [key, flow] : flows) {
    absl::StrAppendFormat(&out, "flow %d %d: %a %a\n", key.first, key.second, flow.alloc_bytes,
                          flow.free_bytes);
  }
  for (const auto& [age, count] : deaths) absl::StrAppendFormat(&out, "age %d: %a\n", age, count);
  for (const LiveView& object : retained) {
    absl::StrAppendFormat(&out, "retained %d %d %d: %a %a %a %d\n", object.row, object.site, object.birth,
                          object.bytes, object.count, object.variance, object.object_bytes);
  }
  return out;
}

}  // namespace plateau::replay

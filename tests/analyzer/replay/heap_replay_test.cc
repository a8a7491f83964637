#include "analyzer/replay/heap_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "tests/support/trace_text.h"

namespace plateau::replay {
namespace {

// One site per stack node, numbered by node; python and mmap pools 100 and 200 higher.
uint32_t SiteOf(Pool pool, uint32_t node) { return node + 100 * static_cast<uint32_t>(pool); }

constexpr char kNodes[] = R"(
node node=1 parent=0 location=1
node node=2 parent=0 location=2
node node=3 parent=0 location=3
)";

struct Flow {
  double alloc_bytes = 0, free_bytes = 0, freed_count = 0;
};

struct Survivors {
  double bytes = 0, count = 0, variance = 0, tensors = 0;
};

struct Replayed : ReplayResult {
  std::map<std::pair<uint32_t, uint32_t>, Flow> flows;           // (site, bucket)
  std::map<std::pair<uint32_t, uint32_t>, Survivors> survivors;  // (site, birth)
  std::map<uint32_t, double> deaths;                             // age -> count
};

class FlowObserver : public ReplayObserver {
 public:
  explicit FlowObserver(Replayed* out) : out_(*out) {}
  void OnAlloc(uint32_t site, double bytes, double weight, uint32_t bucket) override {
    out_.flows[{site, bucket}].alloc_bytes += bytes * weight;
  }
  void OnFree(uint32_t site, uint32_t birth, double bytes, double weight, uint32_t bucket,
              bool is_object) override {
    out_.flows[{site, bucket}].free_bytes += bytes * weight;
    out_.deaths[bucket - birth] += is_object ? weight : 0;
  }
  void OnGrow(uint32_t site, double bytes, double weight, uint32_t bucket) override {
    OnAlloc(site, bytes, weight, bucket);
  }
  void OnShrink(uint32_t site, uint32_t birth, double bytes, double weight, uint32_t bucket) override {
    OnFree(site, birth, bytes, weight, bucket, false);
  }

 private:
  Replayed& out_;
};

Replayed Replay(const std::string& text, std::vector<uint64_t> bucket_ends = {},
                uint32_t last_bucket = UINT32_MAX) {
  const std::string path = testing::WriteTemporary("replay.plt", testing::TraceFromText(kNodes + text));
  const auto reader = reader::TraceReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  const auto definitions = CollectDefinitions(**reader);
  Replayed replayed;
  FlowObserver observer(&replayed);
  std::vector<LiveView> retained;
  ReplayOptions options;
  options.bucket_ends = std::move(bucket_ends);
  options.last_bucket = last_bucket;
  options.observer = &observer;
  options.site_of = SiteOf;
  options.on_retained = [&](const LiveView& object) { retained.push_back(object); };
  static_cast<ReplayResult&>(replayed) = ReplayHeap(**reader, *definitions, options);
  for (const LiveView& object : retained) {
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

TEST(HeapReplayTest, LiveBytesAreWhatWasNotFreed) {
  const Replayed r = Replay(R"(
@10 alloc address=0x100 bytes=10001 stack=1
@20 alloc address=0x200 bytes=10002 stack=2
@30 free address=0x100
@40 alloc address=0x300 bytes=10003 stack=1
)");
  EXPECT_EQ(Live(r, 1), 10003);
  EXPECT_EQ(Live(r, 2), 10002);
  EXPECT_EQ(r.unknown_frees, 0u);
  EXPECT_EQ(r.events, 4u);
  EXPECT_EQ(r.peak_bytes, 20005);
}

TEST(HeapReplayTest, ShareOfThePeakIsWhatEachStackHeldThen) {
  const Replayed r = Replay(R"(
alloc address=0x100 bytes=1000 stack=1
alloc address=0x200 bytes=5000 stack=2
free address=0x200
alloc address=0x300 bytes=300 stack=3
free address=0x100
)");
  EXPECT_EQ(r.peak_bytes, 6000);
  std::map<uint32_t, double> peak;
  for (const StackRow& row : r.stacks) peak[row.site] = row.peak_bytes;
  EXPECT_EQ(peak[1], 1000);
  EXPECT_EQ(peak[2], 5000);
  EXPECT_EQ(peak[3], 0);
}

TEST(HeapReplayTest, FreeOfUnknownAddressIsCounted) {
  const Replayed r = Replay("free address=0x500\n@9 alloc address=0x100 bytes=10001 stack=1\n");
  EXPECT_EQ(r.unknown_frees, 1u);
  EXPECT_EQ(Live(r, 1), 10001);
}

TEST(HeapReplayTest, SurvivorsAreKeptByTheBucketOfTheirBirth) {
  const Replayed r = Replay(R"(
@5 alloc address=0x100 bytes=1 stack=1
@15 alloc address=0x200 bytes=20 stack=1
@16 alloc address=0x210 bytes=7 stack=1
@17 free address=0x210
@25 alloc address=0x300 bytes=300 stack=1
@26 free address=0x100
)",
                            {10, 20});
  EXPECT_EQ(Survived(r, 1, 0), 0);
  EXPECT_EQ(Survived(r, 1, 1), 20);
  EXPECT_EQ(Survived(r, 1, 2), 300);
  EXPECT_EQ(r.flows.at({1, 1}).alloc_bytes, 27);
  EXPECT_EQ(r.flows.at({1, 1}).free_bytes, 7);
  EXPECT_EQ(r.deaths.at(0), 1);  // freed in its own bucket
  EXPECT_EQ(r.deaths.at(2), 1);  // two buckets old
  ASSERT_EQ(r.buckets.size(), 3u);
  EXPECT_EQ(r.buckets[1].live_bytes, 21);
  EXPECT_EQ(r.buckets[1].live_peak_bytes, 28);
  EXPECT_EQ(r.buckets[2].live_bytes, 320);
}

TEST(HeapReplayTest, RetainedObjectsCarryTheLabelOfTheirBirth) {
  const std::string text = kNodes + std::string(R"(
@5 alloc address=0x100 bytes=10001 stack=1
@15 alloc address=0x200 bytes=10002 stack=1
@25 alloc address=0x300 bytes=10003 stack=1
@26 alloc address=0x400 bytes=10004 stack=1
@27 free address=0x300
@35 alloc address=0x500 bytes=10005 stack=1
)");
  const std::string path = testing::WriteTemporary("labels.plt", testing::TraceFromText(text));
  const auto reader = reader::TraceReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto definitions = CollectDefinitions(**reader);
  std::map<uint64_t, int> label_of_size;
  ReplayOptions options;
  options.bucket_ends = {30};
  options.labels = {{10, 0}, {20, 6}, {30, 3}};
  options.site_of = SiteOf;
  options.on_retained = [&](const LiveView& object) { label_of_size[object.object_bytes] = object.label; };
  ReplayHeap(**reader, *definitions, options);
  EXPECT_EQ(label_of_size, (std::map<uint64_t, int>{{10001, kNoLabel}, {10002, 0}, {10004, 6}, {10005, 3}}));
}

TEST(HeapReplayTest, WhatTeardownFreesStaysRetained) {
  const Replayed r = Replay(R"(
@5 alloc address=0x100 bytes=10001 stack=1
@15 alloc address=0x200 bytes=10002 stack=2
@25 free address=0x100
@26 free address=0x200
@27 alloc address=0x300 bytes=50000 stack=3
)",
                            {10, 20}, 1);
  EXPECT_EQ(Live(r, 1), 10001);
  EXPECT_EQ(Live(r, 2), 10002);
  EXPECT_EQ(Live(r, 3), 0);
  EXPECT_EQ(r.buckets[2].live_bytes, 50000);
  EXPECT_EQ(r.peak_bytes, 50000);
  EXPECT_EQ(r.unknown_frees, 0u);
}

TEST(HeapReplayTest, LateFreeOfAnotherThreadDoesNotEndTheNewObject) {
  // Thread 2 allocated the address after thread 1 freed it, but its stamp is older.
  const Replayed r = Replay(R"(
stream 1
@10 alloc address=0x100 bytes=10001 stack=1
@30 free address=0x100
stream 2
@20 time
alloc address=0x100 bytes=10002 stack=2
@40 time
)");
  EXPECT_EQ(Live(r, 1), 0);
  EXPECT_EQ(Live(r, 2), 10002);
  EXPECT_EQ(r.late_frees, 1u);
  EXPECT_EQ(r.unknown_frees, 0u);
}

TEST(HeapReplayTest, FreeThatCameBeforeItsAllocEndsIt) {
  const Replayed r = Replay(R"(
stream 1
@10 time
@30 alloc address=0x100 bytes=10001 stack=1
stream 2
@20 time
free address=0x100
@40 time
)");
  EXPECT_EQ(Live(r, 1), 0);
  EXPECT_EQ(r.unknown_frees, 0u);
}

TEST(HeapReplayTest, FreeOfLongAgoDoesNotEndALaterObject) {
  const Replayed r = Replay(R"(
stream 1
@10 time
@300 alloc address=0x100 bytes=10001 stack=1
stream 2
@20 time
free address=0x100
@40 time
)");
  EXPECT_EQ(Live(r, 1), 10001);
  EXPECT_EQ(r.unknown_frees, 1u);
}

// Thread 2 slept between its stamp and its free: the free may belong to any of the objects that thread 1 had
// at this address meanwhile, and only the last one was not freed by thread 1 itself.
TEST(HeapReplayTest, FreeWithALongUncertainTimeEndsTheObjectNobodyElseFreed) {
  const Replayed r = Replay(R"(
stream 2
@100 alloc address=0x9000 bytes=16 stack=3
free address=0x1000
@9000 alloc address=0x9100 bytes=16 stack=3
stream 1
@200 alloc address=0x1000 bytes=10001 stack=1
@300 free address=0x1000
@400 alloc address=0x1000 bytes=10001 stack=1
@500 free address=0x1000
@600 alloc address=0x1000 bytes=10002 stack=2
@9500 alloc address=0x9200 bytes=16 stack=3
)");
  EXPECT_EQ(r.unknown_frees, 0u);
  EXPECT_EQ(r.stacks[0].live_bytes + r.stacks[1].live_bytes + r.stacks[2].live_bytes, 48);
}

// The free of the address's former object comes late in the merge; the realloc of the new one is not that
// free.
TEST(HeapReplayTest, ReallocOfAFreshObjectIsNotTakenForTheLateFreeOfItsPredecessor) {
  const Replayed r = Replay(R"(
stream 1
@50 alloc address=0x1000 bytes=10003 stack=3
@100 alloc address=0x9000 bytes=16 stack=3
alloc address=0x1000 bytes=10001 stack=1
free address=0x1000 realloc
@300 alloc address=0x1000 bytes=10009 stack=2 realloc
stream 2
@200 free address=0x1000
)");
  EXPECT_EQ(r.unknown_frees, 0u);
  const auto live = [&r](uint32_t site) {
    for (const StackRow& row : r.stacks) {
      if (row.site == site) return row.live_bytes;
    }
    return -1.0;
  };
  EXPECT_EQ(live(1), 10001);
  EXPECT_EQ(live(2), 8);
  EXPECT_EQ(live(3), 16);
}

TEST(HeapReplayTest, LostFreeDoesNotSwallowALaterOne) {
  const Replayed r = Replay(R"(
stream 1
@10 alloc address=0x100 bytes=10001 stack=1
stream 2
@20 alloc address=0x100 bytes=10002 stack=2
@30 free address=0x100
)");
  EXPECT_EQ(Live(r, 1), 0);
  EXPECT_EQ(Live(r, 2), 0);
}

TEST(HeapReplayTest, ReallocKeepsTheBirthOfTheOldBytes) {
  const Replayed r = Replay(R"(
@5 alloc address=0x100 bytes=1000 stack=1
@15 free address=0x100 realloc
@16 alloc address=0x900 bytes=1500 stack=2 realloc
)",
                            {10});
  EXPECT_EQ(Live(r, 1), 1000);
  EXPECT_EQ(Live(r, 2), 500);
  EXPECT_EQ(Survived(r, 1, 0), 1000);
  EXPECT_EQ(Survived(r, 2, 1), 500);
  EXPECT_EQ(LiveCount(r, 1), 1);
  EXPECT_EQ(LiveCount(r, 2), 0);  // still one object
}

TEST(HeapReplayTest, ShrinkingEndsTheYoungestBytesAndFreeEndsAllParts) {
  const std::string grown = R"(
@5 alloc address=0x100 bytes=1000 stack=1
@15 free address=0x100 realloc
@16 alloc address=0x900 bytes=1500 stack=2 realloc
)";
  Replayed r = Replay(
      grown + "@17 free address=0x900 realloc\n@18 alloc address=0x900 bytes=800 stack=3 realloc\n", {10});
  EXPECT_EQ(Live(r, 1), 800);
  EXPECT_EQ(Live(r, 2), 0);
  EXPECT_EQ(LiveCount(r, 1), 1);
  r = Replay(grown + "@20 free address=0x900\n", {10});
  EXPECT_EQ(Live(r, 1), 0);
  EXPECT_EQ(Live(r, 2), 0);
  EXPECT_EQ(LiveCount(r, 1), 0);
  EXPECT_EQ(r.unknown_frees, 0u);
}

TEST(HeapReplayTest, FailedReallocKeepsTheObject) {
  const Replayed r = Replay(R"(
@5 alloc address=0x100 bytes=1000 stack=1
@15 free address=0x100 realloc
realloc_cancel
@25 free address=0x100
@26 alloc address=0x100 bytes=70 stack=2
)");
  EXPECT_EQ(Live(r, 1), 0);
  EXPECT_EQ(Live(r, 2), 70);
  EXPECT_EQ(r.unknown_frees, 0u);
}

TEST(HeapReplayTest, ObjectKilledWithinItsReallocIsStillThere) {
  const Replayed r = Replay("alloc address=0x100 bytes=1000 stack=1\nfree address=0x100 realloc\nopen\n");
  EXPECT_EQ(Live(r, 1), 1000);
  EXPECT_EQ(Survived(r, 1, 0), 1000);
}

TEST(HeapReplayTest, OldAddressMayBeTakenWhileItsObjectIsInRealloc) {
  const Replayed r = Replay(R"(
stream 1
@10 alloc address=0x100 bytes=1000 stack=1
@20 free address=0x100 realloc
@40 alloc address=0x900 bytes=1000 stack=1 realloc
stream 2
@30 alloc address=0x100 bytes=55 stack=2
)");
  EXPECT_EQ(Live(r, 1), 1000);
  EXPECT_EQ(Live(r, 2), 55);
}

TEST(HeapReplayTest, MappingsAreTheirOwnPoolAndMayEndInParts) {
  const Replayed r = Replay(R"(
map address=0x100000 bytes=40960 prot=3 stack=1
unmap address=0x102000 bytes=8192
remap old=0x100000 old_bytes=8192 new=0x900000 new_bytes=16384 stack=2
map address=0x200000 bytes=1048576 prot=0 stack=1
map address=0x400000 bytes=1048576 prot=1 kind=file stack=1
map address=0x600000 bytes=4096 prot=3 kind=shared stack=1
)");
  EXPECT_EQ(Live(r, SiteOf(Pool::kMmap, 1)), 40960 - 8192);
  EXPECT_EQ(Live(r, SiteOf(Pool::kMmap, 2)), 8192);
  EXPECT_EQ(Live(r, SiteOf(Pool::kShared, 1)), 4096);
  EXPECT_EQ(r.pools[static_cast<size_t>(Pool::kReserved)].live_bytes, 1048576);
  EXPECT_EQ(r.pools[static_cast<size_t>(Pool::kFile)].live_bytes, 1048576);
}

TEST(HeapReplayTest, PymallocArenasAreNotCountedBesideTheirContents) {
  const Replayed r = Replay(R"(
map address=0x700000 bytes=1048576 prot=3 stack=1
map address=0xA00000 bytes=1048576 prot=3 stack=2
map address=0xC00000 bytes=16384 prot=3 kind=arena stack=2
alloc_in source=1 address=0x700040 bytes=48 stack=3
alloc_in source=1 address=0x700080 bytes=64 stack=3
free_in source=1 address=0x700040
)");
  EXPECT_EQ(Live(r, SiteOf(Pool::kMmap, 1)), 0);
  EXPECT_EQ(Live(r, SiteOf(Pool::kMmap, 2)), 1048576);
  EXPECT_EQ(Live(r, SiteOf(Pool::kPython, 3)), 64);
  EXPECT_EQ(r.pools[static_cast<size_t>(Pool::kArena)].live_bytes, 1048576 + 16384);
}

TEST(HeapReplayTest, TensorsAreCountedAmongTheSurvivors) {
  const Replayed r = Replay(R"(
alloc address=0x100 bytes=4096 stack=1
tensor address=0x100 bytes=4096
alloc address=0x2000 bytes=4096 stack=1
tensor address=0x2000 bytes=4096
tensor_gone address=0x2000
)");
  EXPECT_EQ(r.survivors.at({1, 0}).tensors, 1);
}

TEST(HeapReplayTest, LiveTensorsAreCountedAtTheEndOfEachBucket) {
  const Replayed r = Replay(R"(
@5 alloc address=0x100 bytes=10001 stack=1
tensor address=0x100 bytes=10001
tensor address=0x100 bytes=10001
@15 alloc address=0x5000 bytes=10002 stack=1
tensor address=0x5000 bytes=10002
@25 free address=0x100
@35 tensor_gone address=0x5000
@36 free address=0x5000
)",
                            {10, 20, 30});
  ASSERT_EQ(r.buckets.size(), 4u);
  EXPECT_EQ(r.buckets[0].tensor_count, 1);
  EXPECT_EQ(r.buckets[1].tensor_count, 2);
  EXPECT_EQ(r.buckets[1].tensor_bytes, 20003);
  EXPECT_EQ(r.buckets[2].tensor_bytes, 10002) << "a freed block is no tensor, tagged or not";
  EXPECT_EQ(r.buckets[3].tensor_count, 0);
}

TEST(HeapReplayTest, FoldedEventsCountInTheBucketTheyBelongTo) {
  const Replayed r =
      Replay("@25 fold stack=1 step=1 allocs=10 alloc_bytes=1000 frees=4 free_bytes=400\n", {10, 20});
  EXPECT_EQ(Live(r, 1), 600);
  EXPECT_EQ(r.flows.at({1, 1}).alloc_bytes, 1000);
  EXPECT_EQ(r.folded_events, 14u);
}

TEST(HeapReplayTest, SampledBytesAreWeightedWithoutBias) {
  // 20000 requests of 1000 bytes, each recorded with probability 1 - e^(-1000/50000).
  std::mt19937_64 random(11);
  const double p = -std::expm1(-1000.0 / 50000);
  std::string text = "header mode=default sample=50000 exact_from=16384\n";
  for (int i = 0; i < 20000; ++i) {
    if (std::uniform_real_distribution<>(0, 1)(random) < p) {
      text += "alloc address=" + std::to_string((i + 1) * 1024) + " bytes=1000 stack=1\n";
    }
  }
  text += "alloc address=0x7000000000 bytes=16384 stack=2\n";
  const Replayed r = Replay(text);
  const double sigma = std::sqrt(20000 * 1e6 * (1 - p) / p);
  EXPECT_NEAR(Live(r, 1), 2e7, 3 * sigma);
  EXPECT_EQ(Live(r, 2), 16384);
  EXPECT_NEAR(std::sqrt(r.survivors.at({1, 0}).variance), sigma, 0.2 * sigma);
}

TEST(HeapReplayTest, ChangeOfRateDoesNotChangeTheWeightOfOlderObjects) {
  const Replayed r = Replay(R"(
header mode=default sample=1000 exact_from=16384
@10 alloc address=0x100 bytes=1000 stack=1
@20 rate mode=default exact_from=16384 sample=100000
@30 alloc address=0x200 bytes=1000 stack=2
@40 free address=0x100
)");
  EXPECT_NEAR(Live(r, 1), 0, 1e-9);
  EXPECT_NEAR(Live(r, 2), 1000 / -std::expm1(-0.01), 1e-6);
}

// Eight threads, random allocations and frees, a stamp every 32 events of a thread.
struct Storm {
  std::string text;
  std::map<uint64_t, std::pair<int, int>> live;  // address -> (bytes, stack)
};

Storm MakeStorm(int addresses) {
  std::mt19937 random(5);
  Storm storm;
  std::map<int, std::string> text;
  std::map<int, int> since_stamp;
  for (int now = 1; now <= 60000; ++now) {
    const int thread = static_cast<int>(random() % 8) + 1;
    const uint64_t address = (random() % addresses + 1) * 64;
    std::string& out = text[thread];
    if (since_stamp[thread]++ % 32 == 0) out += "@" + std::to_string(now) + " time\n";
    if (storm.live.count(address)) {
      out += "free address=" + std::to_string(address) + "\n";
      storm.live.erase(address);
    } else {
      const int bytes = 10000 + static_cast<int>(random() % 9), stack = static_cast<int>(random() % 3) + 1;
      out += "alloc address=" + std::to_string(address) + " bytes=" + std::to_string(bytes) +
             " stack=" + std::to_string(stack) + "\n";
      storm.live[address] = {bytes, stack};
    }
  }
  for (const auto& [thread, lines] : text) {
    storm.text += "stream " + std::to_string(thread) + "\n" + lines + "@60001 time\n";
  }
  return storm;
}

TEST(HeapReplayTest, ThreadsThatShareAddressesEndInTheTruth) {
  const Storm storm = MakeStorm(20000);
  const Replayed r = Replay(storm.text);
  std::map<int, double> expected;
  for (const auto& [address, what] : storm.live) expected[what.second] += what.first;
  for (int stack = 1; stack <= 3; ++stack) EXPECT_EQ(Live(r, stack), expected[stack]) << "stack " << stack;
  EXPECT_EQ(r.unknown_frees, 0u);
}

TEST(HeapReplayTest, ThreadsThatHammerAFewAddressesStayBalanced) {
  // Several lives of one address within one stamp: whose object is the last cannot be told, how many live
  // can.
  const Storm storm = MakeStorm(40);
  const Replayed r = Replay(storm.text);
  EXPECT_EQ(r.live_objects, storm.live.size());
  EXPECT_LT(r.unknown_frees, 120u);  // two in a thousand
}

}  // namespace
}  // namespace plateau::replay

#include "analyzer/replay/heap_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/replay/live_object.h"
#include "tests/analyzer/replay/replayed.h"
#include "tests/support/trace_text.h"

namespace plateau::replay {
namespace {

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

// The peak is noted when growth ends, not at each step of it: shares must be those of that moment, wherever
// in a run of births and ends it lies.
TEST(HeapReplayTest, SharesOfThePeakAreThoseOfASimpleCount) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    std::string text;
    std::map<uint64_t, std::pair<uint32_t, uint64_t>> live;  // stack, bytes by address
    std::map<uint32_t, double> held, held_at_peak;
    double now = 0, peak = 0;
    const auto births = 30 + random() % 50;  // of 100
    for (int i = 0; i < 400; ++i) {
      const uint64_t address = 0x1000 + 16 * (random() % 300);
      const auto it = live.find(address);
      if (it == live.end() && random() % 100 < births) {
        const uint64_t bytes = random() % (i % 10 == 0 ? 300'000 : 1000);
        const uint32_t stack = 1 + static_cast<uint32_t>(random() % 3);
        absl::StrAppend(&text, "alloc address=", address, " bytes=", bytes, " stack=", stack, "\n");
        live[address] = {stack, bytes};
        held[stack] += static_cast<double>(bytes);
        now += static_cast<double>(bytes);
      } else if (it != live.end()) {
        absl::StrAppend(&text, "free address=", address, "\n");
        held[it->second.first] -= static_cast<double>(it->second.second);
        now -= static_cast<double>(it->second.second);
        live.erase(it);
      }
      if (now > peak) peak = now, held_at_peak = held;
    }
    const Replayed r = Replay(text);
    ASSERT_EQ(r.peak_bytes, peak) << "seed " << seed;
    for (const StackRow& row : r.stacks) {
      ASSERT_EQ(row.peak_bytes, held_at_peak[row.site]) << "seed " << seed;
    }
  }
}

TEST(HeapReplayTest, SizesBeyondFourGibibytesAreExact) {
  const Replayed r = Replay(R"(
@10 alloc address=0x100000 bytes=5000000000 stack=1
@20 alloc address=0x7f0000000000 bytes=4294967296 stack=2
@25 alloc address=0x200000 bytes=4294967295 stack=3
@30 free address=0x100000
@40 free address=0x7f0000000000 realloc
@41 alloc address=0x600000000000 bytes=9000000001 stack=1 realloc
)",
                            {25});
  EXPECT_EQ(Live(r, 1), 9000000001.0 - 4294967296.0);
  EXPECT_EQ(Live(r, 2), 4294967296.0);
  EXPECT_EQ(Live(r, 3), 4294967295.0);
  EXPECT_EQ(r.flows.at({1, 1}).free_bytes, 5000000000.0);
  EXPECT_EQ(r.buckets[0].live_bytes, 9294967296.0);
}

// Where an object no longer fits into a word, and where its size no longer fits into an event.
TEST(HeapReplayTest, SizesAroundThoseOfWordsAreExact) {
  for (const uint64_t bytes : {uint64_t{1} << PackedObject::kBytesBits, uint64_t{1} << 32,
                               uint64_t{1} << (64 - PackedObject::kStackBits)}) {
    const Replayed r = Replay(
        absl::StrCat("@10 alloc address=0x100 bytes=", bytes - 1, " stack=1\n",
                     "@10 alloc address=0x200 bytes=", bytes, " stack=2\n",
                     "@10 alloc address=0x300 bytes=", bytes + 1, " stack=3\n", "@20 free address=0x200\n",
                     "@20 alloc address=0x200 bytes=", bytes, " stack=1\n"),
        {15});
    const double size = static_cast<double>(bytes);
    EXPECT_EQ(Live(r, 1), 2 * size - 1);
    EXPECT_EQ(Live(r, 2), 0);
    EXPECT_EQ(Live(r, 3), size + 1);
    EXPECT_EQ(r.peak_bytes, 3 * size);
    EXPECT_EQ(r.flows.at({2, 1}).free_bytes, size);
  }
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

// Steps have numbers in the table of live objects, and those of steps of which nothing is left are used
// again.
TEST(HeapReplayTest, MoreStepsThanTheTableHasNumbersFor) {
  constexpr uint32_t kSteps = (1 << PackedObject::kEraBits) + 3000;
  std::string text;
  std::vector<uint64_t> bucket_ends;
  for (uint32_t step = 0; step < kSteps; ++step) {
    bucket_ends.push_back(10 * (step + 1));
    if (step >= 4) absl::StrAppend(&text, "free address=", 0x1000 + 16 * (step % 4), "\n");
    absl::StrAppend(&text, "@", 10 * step + 5, " alloc address=", 0x1000 + 16 * (step % 4),
                    " bytes=32 stack=1\n");
    if (step % 100000 == 3) {
      absl::StrAppend(&text, "alloc address=", 0x100000 + 16 * step, " bytes=", 1000 + step, " stack=2\n");
    }
    if (step % 1000 == 999) absl::StrAppend(&text, "seal\n");
  }
  const Replayed r = Replay(text, bucket_ends);
  EXPECT_EQ(LiveCount(r, 1), 4);
  for (uint32_t step = kSteps - 4; step < kSteps; ++step) EXPECT_EQ(Survived(r, 1, step), 32);
  EXPECT_EQ(LiveCount(r, 2), 6);
  for (uint32_t step = 3; step < kSteps; step += 100000) EXPECT_EQ(Survived(r, 2, step), 1000 + step);
  EXPECT_EQ(r.deaths.size(), 1u);
  EXPECT_EQ(r.deaths.at(3), kSteps - 4);  // each of the others when it was three steps old
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

constexpr char kFilling[] = R"(
@100 alloc address=0x10000000 bytes=8388608 stack=1
@110 alloc address=0x20000000 bytes=8388608 stack=2
@150 residency region=block address=0x10000000 bytes=8388608 resident=1048576 birth=100
@150 ledger rss_anon=1
@250 residency region=block address=0x10000000 bytes=8388608 resident=3145728 birth=100
@250 ledger rss_anon=1
@350 residency region=block address=0x10000000 bytes=8388608 resident=2097152 birth=100
@350 ledger rss_anon=1
)";

TEST(HeapReplayTest, OfALargeBlockTheBytesInMemoryCount) {
  const Replayed r = Replay(kFilling, {200, 300, 400});
  EXPECT_EQ(Live(r, 1), 2097152);
  EXPECT_EQ(Live(r, 2), 8388608) << "never looked at: by its size";
  ASSERT_EQ(r.ledger.size(), 3u);
  const auto heap = [&](size_t i) { return r.ledger[i].pool_bytes[static_cast<size_t>(Pool::kHeap)]; };
  const auto untouched = [&](size_t i) {
    return r.ledger[i].pool_bytes[static_cast<size_t>(Pool::kUntouched)];
  };
  EXPECT_EQ(heap(0), 1048576 + 8388608);
  EXPECT_EQ(heap(1), 3145728 + 8388608);
  EXPECT_EQ(heap(2), 2097152 + 8388608);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(heap(i) + untouched(i), 2 * 8388608);
  // What came between the looks at 150 and 250 came evenly: half of it until 200.
  EXPECT_EQ(r.buckets[0].live_bytes, 1048576 + 1048576 + 8388608);
  EXPECT_EQ(r.buckets[1].live_bytes, 3145728 + 8388608);
}

TEST(HeapReplayTest, WhatIsTouchedLaterIsBornLaterAndCountsAsNoNewBlock) {
  const Replayed r = Replay(std::string(kFilling) + R"(
@450 residency region=block address=0x10000000 bytes=8388608 resident=4194304 birth=100
@450 ledger rss_anon=1
)",
                            {200, 300, 400, 500});
  EXPECT_EQ(r.survivors.at({1, 0}).bytes, 1048576 + 1048576) << "half of what came between 150 and 250";
  EXPECT_EQ(r.survivors.at({1, 0}).count, 1);
  EXPECT_EQ(r.survivors.count({1, 1}), 0u) << "the youngest pages went first";
  EXPECT_EQ(r.survivors.at({1, 2}).bytes, 1048576) << "half of what came between 350 and 450";
  EXPECT_EQ(r.survivors.at({1, 2}).count, 0);
  EXPECT_EQ(r.survivors.at({1, 3}).bytes, 1048576);
  EXPECT_EQ(r.survivors.at({1, 3}).count, 0);
}

TEST(HeapReplayTest, AFreedBlockTakesEverythingWithItWhateverWasTouched) {
  const Replayed r = Replay(std::string(kFilling) + R"(
@360 free address=0x10000000
@370 alloc address=0x10000000 bytes=5000 stack=3
@380 residency region=block address=0x10000000 bytes=8388608 resident=4096 birth=100
@390 ledger rss_anon=1
)",
                            {200, 300, 400});
  EXPECT_EQ(Live(r, 1), 0);
  EXPECT_EQ(Live(r, 3), 5000) << "a reading of what was there before";
  EXPECT_EQ(r.ledger[3].pool_bytes[static_cast<size_t>(Pool::kUntouched)], 0);
}

TEST(HeapReplayTest, ReallocEndsTheFollowingOfABlockAndMayBeginAnother) {
  const Replayed r = Replay(std::string(kFilling) + R"(
@360 free address=0x10000000 realloc
@361 alloc address=0x30000000 bytes=16777216 stack=3 realloc
@380 residency region=block address=0x30000000 bytes=16777216 resident=4194304 birth=361
@390 ledger rss_anon=1
)",
                            {200, 300, 400});
  EXPECT_EQ(Live(r, 1) + Live(r, 3), 4194304);
  EXPECT_EQ(r.ledger[3].pool_bytes[static_cast<size_t>(Pool::kUntouched)], 16777216 - 4194304);
}

TEST(HeapReplayTest, AnArenaThatNobodyMayTouchCountsByThePagesThatWereOpenedLater) {
  const Replayed r = Replay(R"(
@100 map address=0x40000000 bytes=1073741824 prot=0 stack=1
@110 unmap address=0x40000000 bytes=4194304
@150 residency region=map address=0x40400000 bytes=1069547520 resident=1048576 birth=100
@250 residency region=map address=0x40400000 bytes=1069547520 resident=7340032 birth=100
@260 map address=0x90000000 bytes=1073741824 prot=0 stack=2
@270 ledger rss_anon=1
)",
                            {200, 300, 400});
  EXPECT_EQ(Live(r, SiteOf(Pool::kMmap, 1)), 7340032);
  EXPECT_EQ(r.survivors.at({SiteOf(Pool::kMmap, 1), 1}).bytes, 7340032 - 1048576);
  EXPECT_EQ(r.pools[static_cast<size_t>(Pool::kReserved)].live_bytes, 1073741824) << "never looked at";
}

TEST(HeapReplayTest, APartOfAFollowedMapMayGo) {
  const Replayed r = Replay(R"(
@100 map address=0x40000000 bytes=8388608 prot=3 stack=1
@150 residency region=map address=0x40000000 bytes=8388608 resident=8388608 birth=100
@160 unmap address=0x40200000 bytes=2097152
@170 residency region=map address=0x40000000 bytes=2097152 resident=1048576 birth=100
@180 ledger rss_anon=1
)");
  EXPECT_EQ(Live(r, SiteOf(Pool::kMmap, 1)), 1048576 + 4194304);
}

TEST(HeapReplayTest, ReadingsOfNothingAreIgnored) {
  const Replayed r = Replay(R"(
residency region=block address=0x500 bytes=8388608 resident=4096 birth=1
residency region=map address=0xffffffffffff0000 bytes=18446744073709551615 resident=18446744073709551615 birth=1
@100 alloc address=0x100 bytes=10001 stack=1
@110 residency region=block address=0x100 bytes=10001 resident=18446744073709551615 birth=7
)");
  EXPECT_EQ(Live(r, 1), 10001);
}

TEST(HeapReplayTest, PymallocArenasAreNotCountedBesideTheirContents) {
  const Replayed r = Replay(R"(
map address=0x700000 bytes=1048576 prot=3 stack=1
map address=0xA00000 bytes=1048576 prot=3 stack=2
map address=0xC00000 bytes=16384 prot=3 kind=arena stack=2
alloc_in address=0x700040 bytes=48 stack=3
alloc_in address=0x700080 bytes=64 stack=3
free_in address=0x700040
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
  const Replayed r = Replay(
      "@15 rate mode=folded\n"
      "@16 fold_totals stack=1 allocs_256=2560 alloc_bytes=1000 frees_256=1024 free_bytes=400\n"
      "@25 alloc address=0x10000 bytes=1 stack=2\n",
      {10, 20});
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

TEST(HeapReplayTest, ExactModeWeighsPythonsObjectsAlone) {
  const Replayed r = Replay(R"(
header mode=exact python_sample=1000
@10 alloc address=0x100 bytes=100 stack=1
alloc_in address=0x5000 bytes=100 stack=2
alloc_in address=0x6000 bytes=100 stack=2
@20 free_in address=0x6000
)");
  const double p = -std::expm1(-0.1);
  EXPECT_EQ(Live(r, 1), 100);
  EXPECT_NEAR(Live(r, SiteOf(Pool::kPython, 2)), 100 / p, 1e-9);
  EXPECT_NEAR(r.survivors.at({SiteOf(Pool::kPython, 2), 0}).variance, 1e4 * (1 - p) / (p * p), 1e-6);
  EXPECT_EQ(r.survivors.at({1, 0}).variance, 0);
  EXPECT_FALSE(r.has_sampling);
}

TEST(HeapReplayTest, PythonsObjectsFollowTheFirstSampledRate) {
  const Replayed r = Replay(R"(
header mode=exact python_sample=0
@10 alloc_in address=0x5000 bytes=100 stack=1
@20 rate mode=default exact_from=16384 sample=1000
@30 alloc_in address=0x6000 bytes=100 stack=2
)");
  EXPECT_EQ(Live(r, SiteOf(Pool::kPython, 1)), 100);
  EXPECT_NEAR(Live(r, SiteOf(Pool::kPython, 2)), 100 / -std::expm1(-0.1), 1e-9);
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

}  // namespace
}  // namespace plateau::replay

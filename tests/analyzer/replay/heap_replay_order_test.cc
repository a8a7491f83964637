// The order of events of different threads: what the merge got wrong, and that helper threads do not matter.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>

#include "tests/analyzer/replay/replayed.h"

namespace plateau::replay {
namespace {

TEST(HeapReplayOrderTest, LateFreeOfAnotherThreadDoesNotEndTheNewObject) {
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

TEST(HeapReplayOrderTest, FreeThatCameBeforeItsAllocEndsIt) {
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

TEST(HeapReplayOrderTest, FreeOfLongAgoDoesNotEndALaterObject) {
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
TEST(HeapReplayOrderTest, FreeWithALongUncertainTimeEndsTheObjectNobodyElseFreed) {
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

// Thread 2 slept before its free, while the address had two lives: thread 3 ended the first, so thread 2 the second.
TEST(HeapReplayOrderTest, FreeWithALongUncertainTimeLeavesTheEarlierObjectToItsOwnFree) {
  const Replayed r = Replay(R"(
stream 1
@100 alloc address=0x1000 bytes=10001 stack=1
@3000000 alloc address=0x1000 bytes=10002 stack=2
@9500000 time
stream 2
@150 time
free address=0x1000
@9000000 time
stream 3
@2000000 time
free address=0x1000
@2000200 time
)");
  EXPECT_EQ(r.unknown_frees, 0u);
  EXPECT_EQ(r.live_objects, 0u);
  EXPECT_EQ(Live(r, 1), 0);
  EXPECT_EQ(Live(r, 2), 0);
}

// The free of the address's former object comes late in the merge; the realloc of the new one is not that
// free.
TEST(HeapReplayOrderTest, ReallocOfAFreshObjectIsNotTakenForTheLateFreeOfItsPredecessor) {
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

TEST(HeapReplayOrderTest, LostFreeDoesNotSwallowALaterOne) {
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

TEST(HeapReplayOrderTest, ThreadsThatShareAddressesEndInTheTruth) {
  const Storm storm = MakeStorm(20000);
  const Replayed r = Replay(storm.text);
  std::map<int, double> expected;
  for (const auto& [address, what] : storm.live) expected[what.second] += what.first;
  for (int stack = 1; stack <= 3; ++stack) EXPECT_EQ(Live(r, stack), expected[stack]) << "stack " << stack;
  EXPECT_EQ(r.unknown_frees, 0u);
}

TEST(HeapReplayOrderTest, ThreadsThatHammerAFewAddressesStayBalanced) {
  // Several lives of one address within one stamp: whose object is the last cannot be told, how many live
  // can.
  const Storm storm = MakeStorm(40);
  const Replayed r = Replay(storm.text);
  EXPECT_EQ(r.live_objects, storm.live.size());
  EXPECT_LT(r.unknown_frees, 120u);  // two in a thousand
}

TEST(HeapReplayOrderTest, TheNumberOfThreadsChangesNothing) {
  // Many streams, pymalloc beside them, and buckets that end in the midst of it.
  std::string text = MakeStorm(3000).text + "stream 9\n";
  for (int i = 0; i < 20000; ++i) {
    const std::string address = std::to_string(1 << 24 | i % 500 * 32);
    text += "@" + std::to_string(3 * i + 1) + (i % 1000 < 500 ? " alloc_in" : " free_in") +
            " address=" + address + (i % 1000 < 500 ? " bytes=48 stack=2\n" : "\n");
  }
  std::string first;
  for (const int threads : {1, 2, 4, 4}) {
    const std::string now = Replay(text, {10000, 20000, 30001, 45000}, 3, threads).Fingerprint();
    EXPECT_GT(now.size(), 10000u);
    if (first.empty()) first = now;
    ASSERT_EQ(now, first) << threads << " threads";
  }
}

}  // namespace
}  // namespace plateau::replay

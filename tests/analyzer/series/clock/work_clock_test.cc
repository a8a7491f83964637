#include "analyzer/series/clock/work_clock.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/support/trace_text.h"

namespace plateau::series {
namespace {

// Node 1 is the import machinery, 2 the main program, 3 a function it calls, 4 native code of nobody's.
constexpr char kProgram[] = R"(
header mode=exact clean_exit=1
code code=1 python=3011 line=1 file="<frozen importlib._bootstrap>" name="_load_unlocked"
code code=2 python=3011 line=1 file="/home/user/loop.py" name="<module>"
code code=3 python=3011 line=30 file="/home/user/loop.py" name="step"
python_location location=1 code=1
python_location location=2 code=2
python_location location=3 code=3
pc location=4 module=0 offset=0x1000
node node=1 parent=2 location=1
node node=2 parent=0 location=2
node node=3 parent=2 location=3
node node=4 parent=0 location=4
for i 1 50
  @{i*1000} alloc address={0x100000 + i*4096} bytes=2000 stack=1
end
)";

constexpr char kRounds[] = R"(
for i 1 400
  @{100000 + i*1000} alloc address={0x1000000 + i*65536} bytes=40000 stack=3
end
)";

constexpr char kTeardown[] = R"(
for i 1 400
  @{900000 + i*10} free address={0x1000000 + i*65536}
end
@910000 alloc address=0x9000000 bytes=100 stack=4
@911000 free address=0x9000000
)";

WorkClock ClockOf(const std::string& text, std::optional<uint64_t> exit_time = std::nullopt,
                  bool was_killed = false, const WorkClockOptions& options = {}) {
  const std::string path = testing::WriteTemporary("work_clock.plt", testing::TraceFromText(text));
  auto reader = reader::TraceReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  auto definitions = replay::CollectDefinitions(**reader);
  EXPECT_TRUE(definitions.ok()) << definitions.status();
  return FindWorkClock(**reader, *definitions, {definitions->last_tsc, exit_time, was_killed}, options);
}

TEST(WorkClock, BeginsAfterTheImportsAndEndsBeforeTheTeardown) {
  const WorkClock clock = ClockOf(std::string(kProgram) + kRounds + kTeardown);
  EXPECT_EQ(clock.source, StepSource::kBytes);
  EXPECT_EQ(clock.begin, 101000u);
  EXPECT_EQ(clock.end, 500000u);
  EXPECT_EQ(clock.ends.size(), 100u);
  EXPECT_EQ(clock.ends.back(), 500000u);
}

TEST(WorkClock, PartsHaveEqualBytes) {
  const WorkClock clock = ClockOf(std::string(kProgram) + kRounds + kTeardown);
  ASSERT_EQ(clock.ends.size(), 100u);
  for (size_t i = 1; i + 1 < clock.ends.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(clock.ends[i] - clock.ends[i - 1]), 4000, 1001) << i;
  }
}

TEST(WorkClock, AKilledProgramWorkedUntilTheEnd) {
  const WorkClock clock =
      ClockOf(std::string(kProgram) + kRounds + "@600000 free address=0x1010000\n", std::nullopt, true);
  EXPECT_EQ(clock.end, 600000u);
}

TEST(WorkClock, TheMarkOfAnExitIsTheEndWhereMuchIsDoneBeforeIt) {
  const std::string text = std::string(kProgram) + kRounds + R"(
for i 1 100
  @{600000 + i*1000} alloc address={0x4000000 + i*65536} bytes=40000 stack=2
end
)";
  EXPECT_EQ(ClockOf(text, 1200000).end, 1200000u);
}

TEST(WorkClock, WhatAFunctionHeldIsJudgedBeforeItReturns) {
  // A message is printed after the function has returned and its lists are gone.
  const std::string text = std::string(kProgram) + kRounds + R"(
@501000 free address=0x1010000
@502000 alloc address=0x8000000 bytes=100 stack=2
)";
  EXPECT_EQ(ClockOf(text, 503000).end, 500000u);
}

TEST(WorkClock, ALargeClearanceThatHardlyAnythingFollowsIsTheBeginOfTheTeardown) {
  const std::string cleared = std::string(kProgram) + kRounds + R"(
for i 1 400
  @{510000 + i*10} free address={0x1000000 + i*65536}
end
)";
  EXPECT_EQ(ClockOf(cleared + R"(
for i 1 20
  @{520000 + i*1000} alloc address={0xA000000 + i*4096} bytes=2000 stack=2
end
)",
                    550000)
                .end,
            500000u);
  // A list that is cleared between two rounds of work ends nothing.
  EXPECT_EQ(ClockOf(cleared + R"(
for i 1 100
  @{520000 + i*1000} alloc address={0x4000000 + i*65536} bytes=40000 stack=2
end
)",
                    630000)
                .end,
            620000u);
}

TEST(WorkClock, DestructorsOfAProgramWithoutPythonAreNoWork) {
  const WorkClock clock = ClockOf(R"(
header mode=exact clean_exit=1
pc location=1 module=0 offset=0x1000
node node=1 parent=0 location=1
for i 1 400
  @{100000 + i*1000} alloc address={0x1000000 + i*65536} bytes=40000 stack=1
end
)" + std::string("for i 1 400\n  @{900000 + i*10} free address={0x1000000 + i*65536}\nend\n"));
  EXPECT_EQ(clock.end, 500000u);
}

TEST(WorkClock, AShortProgramOfWhichFewBlocksWereSampledEndsBeforeItsDestructorsToo) {
  const WorkClock clock = ClockOf(R"(
header mode=exact clean_exit=1
pc location=1 module=0 offset=0x1000
node node=1 parent=0 location=1
for i 1 100
  @{100000 + i*1000} alloc address={0x1000000 + i*65536} bytes=40000 stack=1
end
)" + std::string("for i 1 100\n  @{900000 + i*10} free address={0x1000000 + i*65536}\nend\n"));
  EXPECT_EQ(clock.end, 200000u);
}

TEST(WorkClock, AnImportInTheLoopDoesNotMoveTheBegin) {
  const std::string text = std::string(kProgram) + kRounds + R"(
@500500 alloc address=0x8000000 bytes=2000 stack=1
for i 1 200
  @{501000 + i*1000} alloc address={0x4000000 + i*65536} bytes=40000 stack=3
end
)";
  EXPECT_EQ(ClockOf(text).begin, 101000u);
}

TEST(WorkClock, AFirstRoundThatCompilesIsNoMeasureOfTheOthers) {
  // A loop of bytes 10 to 40 of <module>: its first round allocates as much as 800 others. Blocks under 16 KiB may be left out.
  const std::string text = R"(
header mode=default exact_from=16384 sample=524288 clean_exit=1
code code=1 python=3011 line=1 file="/home/user/loop.py" name="<module>" loops=01050f
python_location location=1 code=1 offset=14
python_location location=2 code=1 offset=36
node node=1 parent=0 location=1
node node=2 parent=0 location=2
for i 1 400
  @{100000 + i*100} alloc address={0x1000000 + i*65536} bytes=40000 stack=1
end
for i 1 200
  @{200000 + i*1000} alloc address={0x4000000 + i*65536} bytes={17000 + i*100} stack=1
  @{200500 + i*1000} alloc address={0x8000000 + i*65536} bytes={17000 + i*100} stack=2
end
)";
  WorkClockOptions options;
  options.exact_from_bytes = 16384;
  options.name_of = [](const LoopPlaces&, const Loop&) { return LoopName{"loop.py:3", true, false}; };
  const WorkClock clock = ClockOf(text, 500000, false, options);
  EXPECT_EQ(clock.source, StepSource::kBytes);
  EXPECT_EQ(clock.thinned_loop, "loop.py:3");
  EXPECT_EQ(clock.begin, 202000u);
}

TEST(WorkClock, OneLargeBlockIsNotMostOfTheWork) {
  const std::string text =
      std::string(kProgram) + "@90000 alloc address=0x70000000 bytes=4000000000 stack=2\n" + kRounds;
  const WorkClock clock = ClockOf(text);
  EXPECT_EQ(clock.source, StepSource::kBytes);
  EXPECT_GT(clock.ends.size(), 90u);
}

TEST(WorkClock, FewAllocationsAreCountedInTime) {
  const WorkClock clock = ClockOf(std::string(kProgram) + R"(
@100000 alloc address=0x70000000 bytes=1000000 stack=2
@200000 alloc address=0x71000000 bytes=1000000 stack=2
)");
  EXPECT_EQ(clock.source, StepSource::kTime);
  EXPECT_EQ(clock.begin, 100000u);
}

// 60 rounds of a loop at the bytes 10 to 40 of <module>, 1,000 ticks each.
constexpr char kLoop[] = R"(
header mode=exact clean_exit=1
code code=1 python=3011 line=1 file="/home/user/loop.py" name="<module>" loops=02050f0505
python_location location=1 code=1 offset=14
python_location location=2 code=1 offset=36
node node=1 parent=0 location=1
node node=2 parent=0 location=2
for i 1 60
  @{100000 + i*1000} alloc address={0x1000000 + i*65536} bytes=40000 stack=1
  @{100500 + i*1000} alloc address={0x2000000 + i*65536} bytes=40000 stack=2
  @{100600 + i*1000} free address={0x1000000 + i*65536}
  @{100700 + i*1000} free address={0x2000000 + i*65536}
end
)";

WorkClock ClockOfLoops(const std::string& text, uint64_t exit_time) {
  const std::string path = testing::WriteTemporary("work_loop.plt", testing::TraceFromText(text));
  auto reader = reader::TraceReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  auto definitions = replay::CollectDefinitions(**reader);
  EXPECT_TRUE(definitions.ok()) << definitions.status();
  WorkClockOptions options;
  options.name_of = [](const LoopPlaces&, const Loop&) { return LoopName{"loop.py:30", true, false}; };
  return FindWorkClock(**reader, *definitions, {definitions->last_tsc, exit_time, false}, options);
}

TEST(WorkClock, ALoopBesideWhichMemoryGrewForAsLongIsNoClock) {
  const std::string before = std::string(kLoop) + R"(
@100000 ledger rss_anon=100000000
@160000 ledger rss_anon=101000000
)";
  const WorkClock quiet = ClockOfLoops(before + "@239000 ledger rss_anon=101500000\n", 240000);
  EXPECT_EQ(quiet.source, StepSource::kRounds);
  EXPECT_TRUE(quiet.saw_loop || !quiet.loop.empty());
  EXPECT_EQ(quiet.ends.size(), 60u);
  const WorkClock grown = ClockOfLoops(before + "@239000 ledger rss_anon=180000000\n", 240000);
  EXPECT_EQ(grown.source, StepSource::kTime);
  EXPECT_EQ(grown.begin, quiet.end);
  EXPECT_EQ(grown.end, 240000u);
  // What an exit takes is no work.
  const WorkClock exits = ClockOfLoops(before + "@239000 ledger rss_anon=180000000\n", 170000);
  EXPECT_EQ(exits.source, StepSource::kRounds);
}

}  // namespace
}  // namespace plateau::series

#include "analyzer/series/clock/loops/loop_finder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "analyzer/series/clock/loops/loop_choice.h"
#include "tests/support/trace_text.h"

namespace plateau::series {
namespace {

// loop.py: a loop of bytes 10 to 40 around one of 20 to 30; step() has none and is called at 14 and at 24. watch.py is a
// library with a loop of bytes 12 to 20, which may call step() at 14.
constexpr char kProgram[] = R"(
header mode=exact clean_exit=1
code code=1 python=3011 line=1 file="/home/user/loop.py" name="<module>" loops=02050f0505
code code=2 python=3011 line=30 file="/home/user/loop.py" name="step" loops=00
code code=3 python=3011 line=1 file="<frozen importlib._bootstrap>" name="_load" loops=00
code code=4 python=3011 line=9 file="/usr/lib/python3.11/watch.py" name="run" loops=010604
python_location location=1 code=1 offset=14
python_location location=2 code=1 offset=24
python_location location=3 code=1 offset=36
python_location location=4 code=2 offset=2
python_location location=5 code=2 offset=8
python_location location=6 code=3 offset=2
pc location=7 module=0 offset=0x1000
pc location=8 module=0 offset=0x2000
python_location location=9 code=4 offset=14
python_location location=10 code=4 offset=18
node node=1 parent=0 location=1
node node=2 parent=0 location=2
node node=3 parent=0 location=3
node node=4 parent=2 location=4
node node=5 parent=2 location=5
node node=6 parent=1 location=6
node node=7 parent=1 location=7
node node=8 parent=1 location=8
node node=9 parent=0 location=9
node node=10 parent=0 location=10
node node=11 parent=9 location=4
node node=12 parent=1 location=9
node node=13 parent=1 location=10
@1 alloc address=0x1000 bytes=10 stack=1
)";

class LoopFinderTest : public ::testing::Test {
 protected:
  LoopFinderTest() {
    path_ = testing::WriteTemporary("loop_finder.plt", testing::TraceFromText(kProgram));
    reader_ = *reader::TraceReader::Open(path_);
    definitions_ = std::make_unique<replay::Definitions>(*replay::CollectDefinitions(*reader_));
    paths_ = std::make_unique<FunctionPaths>(definitions_.get());
    SetUpAgain();
  }

  void SetUpAgain() { finder_ = std::make_unique<LoopFinder>(definitions_.get(), paths_.get(), nullptr); }

  void Add(std::initializer_list<uint32_t> nodes, uint32_t stream = 1) {
    for (const uint32_t node : nodes) finder_->Add(stream, time_ += 10, node, bytes_, weight_);
  }
  // Of the loop that begins at this byte of <module>.
  size_t RoundsOf(uint32_t head) const {
    for (size_t loop = 1; loop < finder_->rounds().size() && loop < finder_->places().loops().size();
         ++loop) {
      if (finder_->places().loops()[loop].span.head == head) return finder_->rounds()[loop].events.size();
    }
    return 0;
  }
  std::optional<ChosenLoop> Choose(uint64_t exact_from = 0) const {
    LoopChoiceOptions options;
    options.exact_from_bytes = exact_from;
    options.name_of = [](const LoopPlaces&, const Loop& loop) {
      return LoopName{"loop at " + std::to_string(loop.span.head), true, false};
    };
    options.is_users = [this](const Place& place) {
      const replay::Location& where = definitions_->locations[place.location];
      return where.kind != replay::Location::Kind::kPython ||
             definitions_->codes[where.owner].file.starts_with("/home/");
    };
    return ChooseLoop(*finder_, options);
  }

  std::string path_;
  std::unique_ptr<reader::TraceReader> reader_;
  std::unique_ptr<replay::Definitions> definitions_;
  std::unique_ptr<FunctionPaths> paths_;
  std::unique_ptr<LoopFinder> finder_;
  uint64_t time_ = 1000;
  uint64_t bytes_ = 40000;
  double weight_ = 1;
};

TEST_F(LoopFinderTest, AWayBackInsideALoopIsARound) {
  for (int i = 0; i < 30; ++i) Add({1, 3});
  EXPECT_EQ(RoundsOf(10), 30u);
}

TEST_F(LoopFinderTest, AFunctionCalledAgainIsARoundOfTheLoopAroundTheCall) {
  for (int i = 0; i < 30; ++i) Add({4, 5});
  EXPECT_EQ(RoundsOf(20), 30u);
}

TEST_F(LoopFinderTest, AnInnerLoopThatIsEnteredAgainBeginsARoundOfBoth) {
  for (int i = 0; i < 10; ++i) {
    Add({1});
    for (int k = 0; k < 7; ++k) Add({4, 5});
    Add({3});
  }
  EXPECT_EQ(RoundsOf(10), 10u);
  EXPECT_EQ(RoundsOf(20), 70u);
}

TEST_F(LoopFinderTest, ThreadsAreFollowedEachForItself) {
  for (int i = 0; i < 30; ++i) {
    Add({1}, 1);
    Add({1}, 2);
    Add({3}, 1);
    Add({3}, 2);
  }
  EXPECT_EQ(RoundsOf(10), 60u);
}

TEST_F(LoopFinderTest, WhatAnImportAllocatesCountsNowhere) {
  Add({6, 6, 6, 6});
  EXPECT_EQ(finder_->events(), 0u);
}

TEST_F(LoopFinderTest, CodeInCThatAllocatesAgainAndAgainIsNoRoundForSure) {
  for (int i = 0; i < 30; ++i) Add({1});
  EXPECT_EQ(RoundsOf(10), 1u);  // entered
}

TEST_F(LoopFinderTest, AnotherCallThatIsMetForTheFirstTimeIsFurtherDown) {
  for (int i = 0; i < 5; ++i) Add({7, 8});
  EXPECT_EQ(RoundsOf(10), 1u);
  EXPECT_EQ(finder_->softs()[finder_->places().LoopAround(finder_->at_place().size() > 1 ? 1 : 0)], 4u);
}

TEST_F(LoopFinderTest, OfTwoLoopsTheOuterOneWithEnoughRoundsIsTheClock) {
  for (int i = 0; i < 80; ++i) {
    Add({1});
    for (int k = 0; k < 3; ++k) Add({4, 5});
  }
  const auto loop = Choose();
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->name.line, "loop at 10");
  EXPECT_TRUE(loop->has_all_rounds);
  EXPECT_EQ(loop->begins.size(), 80u);
  EXPECT_TRUE(loop->epoch_ends.empty());
}

TEST_F(LoopFinderTest, FewRoundsOfTheOuterLoopAreEpochsOfTheInnerOne) {
  for (int i = 0; i < 4; ++i) {
    Add({1});
    for (int k = 0; k < 25; ++k) Add({4, 5});
  }
  const auto loop = Choose();
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->name.line, "loop at 20");
  EXPECT_EQ(loop->begins.size(), 100u);
  EXPECT_EQ(loop->epoch_ends, (std::vector<uint32_t>{25, 50, 75, 100}));
  EXPECT_EQ(loop->epoch_line, "loop at 10");
}

TEST_F(LoopFinderTest, PassesOfDifferentLengthsAreNoEpochs) {
  for (int i = 0; i < 4; ++i) {
    Add({1});
    for (int k = 0; k < 20 + 11 * i; ++k) Add({4, 5});
  }
  const auto loop = Choose();
  ASSERT_TRUE(loop.has_value());
  EXPECT_TRUE(loop->epoch_ends.empty());
}

TEST_F(LoopFinderTest, RoundsThatSamplingHidIsAskedOfWhatIsAlwaysRecorded) {
  // The way back is seen in two of three rounds; what is at node 4 is there each time.
  for (int i = 0; i < 300; ++i) {
    bytes_ = 40000, weight_ = 1;
    Add({4});
    if (i % 3 == 0) continue;
    bytes_ = 100, weight_ = 1.5;
    Add({5});
  }
  const auto loop = Choose(16384);
  ASSERT_TRUE(loop.has_value());
  EXPECT_TRUE(loop->has_all_rounds);
  EXPECT_EQ(loop->begins.size(), 300u);
}

TEST_F(LoopFinderTest, AStackThatTheFirstRoundsReachedElsewhereIsNotTheirNumber) {
  // An interpreter that specialises its code is at another place of it in the first rounds.
  for (int i = 0; i < 300; ++i) {
    Add({4});
    if (i >= 6) Add({5});
  }
  const auto loop = Choose(16384);
  ASSERT_TRUE(loop.has_value());
  EXPECT_TRUE(loop->has_all_rounds);
  EXPECT_EQ(loop->begins.size(), 300u);
}

TEST_F(LoopFinderTest, RoundsWithOneStackAloneCountWhereItComesAgainAsLateAsARoundTakes) {
  // Every seventh round leaves nothing but its first stack.
  for (int i = 0; i < 350; ++i) {
    Add({1});
    if (i % 7 != 0) Add({2});
    time_ += 1000;
  }
  const auto loop = Choose(16384);
  ASSERT_TRUE(loop.has_value());
  EXPECT_TRUE(loop->has_all_rounds);
  EXPECT_EQ(loop->begins.size(), 350u);
}

TEST_F(LoopFinderTest, TenBlocksAtEqualDistancesMayBeTenRounds) {
  for (const bool is_even : {true, false}) {
    SetUpAgain();
    for (int i = 0; i < 300; ++i) {
      for (int k = 0; k < 10; ++k) {
        Add({1});
        time_ += is_even ? 100 : 0;
      }
      Add({2});  // what every tenth round keeps, or what follows ten calls from one line of C
      time_ += is_even ? 0 : 1000;
    }
    const auto loop = Choose(16384);
    ASSERT_TRUE(loop.has_value());
    EXPECT_EQ(loop->has_all_rounds, !is_even);
  }
}

TEST_F(LoopFinderTest, TwoBlocksOfOneStackAreOneRound) {
  for (int i = 0; i < 350; ++i) {
    Add({1});
    if (i % 7 == 0) Add({1});
    Add({2});
    time_ += 1000;
  }
  const auto loop = Choose(16384);
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->begins.size(), 350u);
}

TEST_F(LoopFinderTest, StacksThatAreMetEquallyOftenAreTheRounds) {
  for (int i = 0; i < 300; ++i) {
    bytes_ = 40000, weight_ = 1;
    Add({1, 3});
    if (i % 30 != 0) continue;
    bytes_ = 100, weight_ = 700;
    Add({7});  // beneath the same call as the first, so that another round seems to begin
  }
  const auto loop = Choose(16384);
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->begins.size(), 300u);
}

TEST_F(LoopFinderTest, StacksOfABranchAreNotTheRounds) {
  for (int i = 0; i < 350; ++i) {
    Add({1});
    if (i % 7 != 0) Add({2, 3});  // once each in six of seven rounds
  }
  const auto loop = Choose(16384);
  ASSERT_TRUE(loop.has_value());
  EXPECT_FALSE(loop->has_all_rounds && loop->begins.size() < 345);
}

TEST_F(LoopFinderTest, ALoopOfSmallObjectsAloneIsThinned) {
  bytes_ = 100, weight_ = 5000;
  for (int i = 0; i < 100; ++i) Add({4, 5});
  const auto loop = Choose(16384);
  ASSERT_TRUE(loop.has_value());
  EXPECT_FALSE(loop->has_all_rounds);
}

TEST_F(LoopFinderTest, ABlockOfEveryTenthRoundIsNotTakenForAllRounds) {
  for (int i = 0; i < 200; ++i) {
    bytes_ = 40000, weight_ = 1;
    Add({4});
    // Small objects of which one in a thousand is recorded: they happened ten times as often.
    bytes_ = 100, weight_ = 100;
    if (i % 10 == 0) Add({5});
  }
  const auto loop = Choose(16384);
  ASSERT_TRUE(loop.has_value());
  EXPECT_FALSE(loop->has_all_rounds);
}

TEST_F(LoopFinderTest, SmallObjectsOfManySizesAtOnePlaceAreNoFurtherRounds) {
  // Six small requests a round from one line, of which a few are recorded by chance.
  for (int i = 0; i < 200; ++i) {
    bytes_ = 40000, weight_ = 1;
    Add({1, 3});
    if (i % 20 != 0) continue;
    bytes_ = 100 + 16 * (i / 20 % 6), weight_ = 700;
    Add({3});
  }
  const auto loop = Choose(16384);
  ASSERT_TRUE(loop.has_value());
  EXPECT_TRUE(loop->has_all_rounds);
  EXPECT_EQ(loop->begins.size(), 200u);
}

TEST_F(LoopFinderTest, AHandfulOfSamplesSaysNothingAboutNumbers) {
  for (int i = 0; i < 200; ++i) {
    bytes_ = 40000, weight_ = 1;
    Add({1, 3});
    if (i % 50 != 0) continue;
    bytes_ = 100, weight_ = 300;
    Add({3});  // four, which stand for 1,200
  }
  const auto loop = Choose(16384);
  ASSERT_TRUE(loop.has_value());
  EXPECT_TRUE(loop->has_all_rounds);
}

TEST_F(LoopFinderTest, BlocksOfChangingSizesMayBeTooSmallToBeRecorded) {
  for (int i = 0; i < 200; ++i) {
    bytes_ = 17000 + 100 * (i % 100);
    Add({4, 5});
  }
  const auto loop = Choose(16384);
  ASSERT_TRUE(loop.has_value());
  EXPECT_FALSE(loop->has_all_rounds);
}

TEST_F(LoopFinderTest, BlocksOfChangingSizesFarAboveTheBorderAreAllRecorded) {
  for (int i = 0; i < 200; ++i) {
    bytes_ = 25000 + 10 * (i % 100);
    Add({1, 3});
  }
  const auto loop = Choose(16384);
  ASSERT_TRUE(loop.has_value());
  EXPECT_TRUE(loop->has_all_rounds);
  EXPECT_EQ(loop->begins.size(), 200u);
}

TEST_F(LoopFinderTest, AThreadOfALibraryThatTakesLongerIsNoClock) {
  for (int i = 0; i < 150; ++i) {
    Add({9, 10}, 2);
    if (i >= 100) Add({1, 3, 1, 3}, 1);
  }
  const auto loop = Choose();
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->name.line, "loop at 10");
  EXPECT_EQ(loop->begins.size(), 100u);
}

TEST_F(LoopFinderTest, ALoopOfALibraryThatHoldsOrServesTheUsersCodeIsTheClock) {
  for (int i = 0; i < 150; ++i) Add({11, 10}, 2);  // it calls step()
  auto loop = Choose();
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->name.line, "loop at 12");
  EXPECT_EQ(loop->begins.size(), 150u);

  SetUpAgain();
  for (int i = 0; i < 150; ++i) Add({12, 13});  // loop.py called it
  loop = Choose();
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->name.line, "loop at 12");
}

TEST_F(LoopFinderTest, WhereAllOfTheProgramIsInstalledItsLoopsAreTheClock) {
  for (int i = 0; i < 150; ++i) Add({9, 10});
  EXPECT_TRUE(Choose().has_value());
}

TEST_F(LoopFinderTest, TooFewRoundsAreNoClock) {
  for (int i = 0; i < 10; ++i) Add({1, 3});
  EXPECT_FALSE(Choose().has_value());
}

}  // namespace
}  // namespace plateau::series

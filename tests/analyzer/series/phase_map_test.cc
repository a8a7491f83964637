#include "analyzer/series/phase_map.h"

#include <gtest/gtest.h>

#include "tests/analyzer/series/clock/loop_text.h"

namespace plateau::series {
namespace {

// The phase in the middle of each letter of the loop, as one letter: start-up S, fetch F, forward W, backward
// B, optimizer O, evaluation E, checkpoint C, other '.'.
std::string PhasesOf(std::string_view loop) {
  MarkLog log;
  const uint64_t end = AddLoop(&log, loop);
  const StepClock clock = ClockOf(&log, end);
  const PhaseMap map = PhaseMap::Build(log, clock, end);
  constexpr std::string_view kLetters = "SFWBOEC.";
  std::string phases;
  for (uint64_t time = 102; time < end; time += 10)
    phases += kLetters[static_cast<size_t>(map.PhaseOf(time))];
  return phases;
}

TEST(PhaseMapTest, ForwardLeadsUpToTheBackwardPass) {
  EXPECT_EQ(PhasesOf("  f z b s "), "SSFWWWB.O.");
  EXPECT_EQ(PhasesOf(" f b f b s f b s"), "SFWB.FWB.O.FWB.O");
}

TEST(PhaseMapTest, LoopWithoutALoaderStartsItsForwardAtTheLastStep) {
  EXPECT_EQ(PhasesOf("  z bs  b s"), "SSWWBOWWB.O");
}

TEST(PhaseMapTest, SecondForwardOfAGanIsForwardToo) { EXPECT_EQ(PhasesOf("f b s  b t"), "FWB.OWWB.O"); }

TEST(PhaseMapTest, EvaluationCoversItsFetches) {
  EXPECT_EQ(PhasesOf("fbsfbs"
                     "v v v y"
                     "fbs"),
            "FBOFBOEEEEEEEFBO");
}

TEST(PhaseMapTest, CheckpointsAreMarked) { EXPECT_EQ(PhasesOf("fbscfbs"), "FBOCFBO"); }

TEST(PhaseMapTest, ClosureBelongsToTheOptimizer) {
  MarkLog log;
  using enum trace::MarkKind;
  uint64_t time = 10;
  for (int i = 0; i < 2; ++i) {
    for (auto kind : {kOptimizerBegin, kBackwardBegin, kBackwardEnd, kStep}) {
      log.Add(time, 1, kind, trace::MarkSource::kRecordFunction, 0, {});
      time += 10;
    }
  }
  const StepClock clock = ClockOf(&log, time);
  const PhaseMap map = PhaseMap::Build(log, clock, time);
  EXPECT_EQ(map.PhaseOf(25), BirthPhase::kOptimizer);
  EXPECT_EQ(map.PhaseOf(35), BirthPhase::kOptimizer);
}

TEST(PhaseMapTest, WithoutStepsAllIsStartUp) {
  MarkLog log;
  const StepClock clock = ClockOf(&log, 1000);
  const PhaseMap map = PhaseMap::Build(log, clock, 1000);
  EXPECT_EQ(map.segments().size(), 1u);
  EXPECT_EQ(map.PhaseOf(500), BirthPhase::kStartup);
}

TEST(PhaseMapTest, SegmentsAscendAndDiffer) {
  MarkLog log;
  const uint64_t end = AddLoop(&log, Times(20, "fzbs") + "vvyc" + Times(5, "fzbs"));
  const PhaseMap map = PhaseMap::Build(log, ClockOf(&log, end), end);
  ASSERT_GT(map.segments().size(), 50u);
  for (size_t i = 1; i < map.segments().size(); ++i) {
    EXPECT_LT(map.segments()[i - 1].begin, map.segments()[i].begin);
    EXPECT_NE(map.segments()[i - 1].phase, map.segments()[i].phase);
  }
}

}  // namespace
}  // namespace plateau::series

#include "analyzer/series/clock/step_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analyzer/series/clock/loop_text.h"

namespace plateau::series {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;

constexpr LoopTextOptions kNoLines = {.has_sites = false};
constexpr LoopTextOptions kNoStops = {.knows_stop = false};

enum Lines { kKnown, kUnknown, kAllEqual };

// Every loop must be read alike with the lines of its calls, without them, and with stacks that lack the
// Python frames.
class EveryWay : public testing::TestWithParam<Lines> {
 protected:
  StepClock Read(std::string_view text) const {
    return ClockOf(text, {.has_sites = GetParam() != kUnknown, .has_one_site = GetParam() == kAllEqual});
  }
};
INSTANTIATE_TEST_SUITE_P(Lines, EveryWay, testing::Values(kKnown, kUnknown, kAllEqual));

TEST_P(EveryWay, PlainLoopOfTwoEpochs) {
  const StepClock clock = Read(Times(2, Times(10, "fzbs") + "x"));
  EXPECT_EQ(clock.source(), StepSource::kOptimizer);
  EXPECT_EQ(clock.confidence(), Confidence::kHigh);
  EXPECT_EQ(clock.step_count(), 20u);
  EXPECT_EQ(clock.complete_epochs(), 2u);
  EXPECT_EQ(clock.epochs().size(), 2u);
  EXPECT_EQ(clock.steps_per_epoch(), 10.0);
  EXPECT_TRUE(clock.steps_per_epoch_is_measured());
  EXPECT_EQ(clock.evaluations().size(), 0u);
  EXPECT_EQ(clock.epochs()[1].first_step, 11u);
  EXPECT_EQ(clock.sentence(),
            "20 steps from optimizer steps (Adam), 1 batch per step. 2 epochs completed, 10 steps each (the "
            "DataLoader ran out).");
}

TEST_P(EveryWay, GradientAccumulationIsOneStepPerOptimizerStep) {
  const StepClock clock = Read(Times(3, Times(5, "z fbfbfbfb s") + "x"));
  EXPECT_EQ(clock.step_count(), 15u);
  EXPECT_EQ(clock.steps()[7].backwards, 4u);
  EXPECT_EQ(clock.steps()[7].fetches, 4u);
  EXPECT_EQ(clock.complete_epochs(), 3u);
  EXPECT_EQ(clock.steps_per_epoch(), 5.0);
  EXPECT_EQ(clock.skipped_steps(), 0u);
}

// 663 images, batch 2, accumulation 4: 332 batches an epoch, 83 steps of which the last has none left over.
TEST_P(EveryWay, AccumulationThatDoesNotDivideTheEpochHasAFractionalLength) {
  const StepClock clock = Read(Times(2, Times(7, "fbfbfbfbsz") + "fbfb" + "x"));
  EXPECT_EQ(clock.step_count(), 14u);
  EXPECT_EQ(clock.complete_epochs(), 2u);
  EXPECT_THAT(clock.steps_per_epoch(), DoubleNear(7.5, 0.3));
}

TEST_P(EveryWay, TwoOptimizersOnOneBackwardAreOneStep) {
  const StepClock clock = Read(Times(12, "fzzbst"));
  EXPECT_EQ(clock.step_count(), 12u);
  EXPECT_EQ(clock.steps()[3].optimizer_steps, 2u);
}

TEST_P(EveryWay, GanWithTwoBackwardsAndTwoOptimizersIsOneStepPerBatch) {
  const StepClock clock = Read(Times(2, Times(9, "fzbbszbt") + "x"));
  EXPECT_EQ(clock.step_count(), 18u);
  EXPECT_EQ(clock.steps()[5].optimizer_steps, 2u);
  EXPECT_EQ(clock.steps()[5].backwards, 3u);
  EXPECT_EQ(clock.complete_epochs(), 2u);
}

TEST(StepClockTest, GanWithoutALoaderIsToldByTheLinesOfItsOptimizers) {
  EXPECT_EQ(ClockOf(Times(15, "zbszbt")).step_count(), 15u);
  EXPECT_EQ(ClockOf(Times(15, "zbszbu"), kNoLines).step_count(), 15u) << "the classes differ";
}

TEST(StepClockTest, ManyStepsOnOneBatchAreManySteps) {
  EXPECT_EQ(ClockOf(Times(6, "f" + Times(8, "zbs"))).step_count(), 48u);
}

TEST(StepClockTest, AChangeOfOptimizerIsNotAnAlternation) {
  EXPECT_EQ(ClockOf(Times(10, "zbs") + Times(10, "zbt")).step_count(), 20u);
}

TEST_P(EveryWay, ClosureRunsTheBackwardInsideTheStep) {
  // LBFGS: the optimizer's range opens, backward passes run inside it.
  MarkLog log;
  uint64_t time = 100;
  using enum trace::MarkKind;
  for (int i = 0; i < 5; ++i) {
    const auto mark = [&](trace::MarkKind kind) {
      log.Add(time++, 1, kind, trace::MarkSource::kRecordFunction, GetParam() == kUnknown ? 0 : 7, "LBFGS");
    };
    mark(kOptimizerBegin);
    for (int k = 0; k < (i == 0 ? 3 : 1); ++k) {  // it converges
      mark(kZeroGrad);
      mark(kBackwardBegin);
      mark(kBackwardEnd);
    }
    mark(kStep);
  }
  const StepClock clock = ClockOf(&log, time);
  EXPECT_EQ(clock.step_count(), 5u);
  EXPECT_EQ(clock.skipped_steps(), 0u);
}

TEST_P(EveryWay, GradientScalerThatSkipsAStepIsCounted) {
  const StepClock clock = Read(Times(5, "fzbs") + "fzb" + Times(6, "fzbs") + "fzb" + "fzbs" + "x");
  EXPECT_EQ(clock.step_count(), 14u);
  EXPECT_EQ(clock.skipped_steps(), 2u);
  EXPECT_TRUE(clock.steps()[5].is_skipped);
  EXPECT_FALSE(clock.steps()[6].is_skipped);
  EXPECT_THAT(clock.sentence(), HasSubstr("2 steps dropped the gradients without an optimizer step."));
}

TEST_P(EveryWay, ZeroGradBetweenTwoLossesIsHowTheLoopIsWritten) {
  const StepClock clock = Read(Times(10, "fzbzbst"));
  EXPECT_EQ(clock.step_count(), 10u);
  EXPECT_EQ(clock.skipped_steps(), 0u);
}

TEST_P(EveryWay, EvaluationEveryKStepsInsideAnEpoch) {
  const StepClock clock = Read(Times(2, Times(4, Times(5, "fzbs") + "vvvvy") + "x"));
  EXPECT_EQ(clock.step_count(), 40u);
  EXPECT_EQ(clock.complete_epochs(), 2u);
  ASSERT_EQ(clock.evaluations().size(), 8u);
  EXPECT_EQ(clock.evaluations()[0].batches, 4u);
  EXPECT_EQ(clock.evaluations()[0].after_step, 5u);
  EXPECT_EQ(clock.evaluations()[7].after_step, 40u);
}

TEST_P(EveryWay, EvaluationAfterEachEpoch) {
  const StepClock clock = Read(Times(3, Times(6, "fzbs") + "x" + "vvy"));
  EXPECT_EQ(clock.complete_epochs(), 3u);
  EXPECT_EQ(clock.evaluations().size(), 3u);
  EXPECT_EQ(clock.evaluations()[1].batches, 2u);
  EXPECT_EQ(clock.steps_per_epoch(), 6.0);
}

TEST_P(EveryWay, EvaluationOnTwoSetsIsOne) {
  const StepClock clock = Read(Times(2, Times(6, "fzbs") + "x" + "vvy" + "vvvy"));
  EXPECT_EQ(clock.evaluations().size(), 2u);
  EXPECT_EQ(clock.evaluations()[0].batches, 5u);
}

TEST_P(EveryWay, EvaluationThatBreaksOffIsSeenToo) {
  const StepClock clock = Read(Times(4, Times(6, "fzbs") + "vvv"));
  EXPECT_EQ(clock.step_count(), 24u);
  EXPECT_EQ(clock.evaluations().size(), 4u);
  EXPECT_EQ(clock.complete_epochs(), 0u);
}

TEST_P(EveryWay, SkippedBatchIsNoEvaluation) {
  const StepClock clock = Read(Times(4, "fzbs") + "f" + Times(5, "fzbs") + "x");
  EXPECT_EQ(clock.step_count(), 9u);
  EXPECT_EQ(clock.evaluations().size(), 0u);
  EXPECT_EQ(clock.skipped_batches(), 1u);
  EXPECT_EQ(clock.complete_epochs(), 1u);
}

TEST_P(EveryWay, TwoLoadersInStepFeedOneStep) {
  const StepClock clock = Read(Times(2, Times(8, "ffzbs") + "x"));
  EXPECT_EQ(clock.step_count(), 16u);
  EXPECT_EQ(clock.batches_per_step(), 2.0);
  EXPECT_EQ(clock.evaluations().size(), 0u);
  EXPECT_EQ(clock.skipped_batches(), 0u);
}

TEST_P(EveryWay, MicroBatchesFetchedTogetherAreUsed) {
  const StepClock clock = Read(Times(2, Times(8, "ffffzbbbbs") + "x"));
  EXPECT_EQ(clock.step_count(), 16u);
  EXPECT_EQ(clock.batches_per_step(), 4.0);
  EXPECT_EQ(clock.steps_per_epoch(), 8.0);
}

TEST(StepClockTest, EndsOfPassesAreInferredWhenTheyAreNotSeen) {
  const StepClock clock = ClockOf(Times(3, Times(6, "fzbs") + "x" + "vvvy"), kNoStops);
  EXPECT_EQ(clock.complete_epochs(), 3u);
  EXPECT_EQ(clock.evaluations().size(), 3u);
  EXPECT_EQ(clock.evaluations()[0].batches, 3u);
  EXPECT_EQ(clock.confidence(), Confidence::kMedium);
  EXPECT_THAT(clock.sentence(), HasSubstr("inferred"));
}

TEST(StepClockTest, ModesDelimitEvaluationsWithoutALoader) {
  const StepClock clock = ClockOf("T" + Times(3, "T" + Times(5, "zbs") + "E   "));
  EXPECT_EQ(clock.step_count(), 15u);
  EXPECT_EQ(clock.evaluations().size(), 3u);
  EXPECT_EQ(clock.evaluations()[2].after_step, 15u);
  EXPECT_EQ(clock.complete_epochs(), 0u);
  EXPECT_THAT(clock.sentence(), HasSubstr("length of an epoch is unknown"));
}

TEST(StepClockTest, EvalModeWhileLoadingIsNoEvaluation) {
  EXPECT_EQ(ClockOf("ET" + Times(5, "fzbs")).evaluations().size(), 0u);
}

TEST(StepClockTest, NestedBackwardIsOne) {
  const StepClock clock = ClockOf(Times(5, "fz((()))s"));
  EXPECT_EQ(clock.step_count(), 5u);
  EXPECT_EQ(clock.steps()[2].backwards, 1u);
}

TEST(StepClockTest, BackwardThatThrewDoesNotSwallowLaterOnes) {
  const StepClock clock = ClockOf("fz(" + Times(5, "fzbs"));
  EXPECT_EQ(clock.step_count(), 6u) << "the gradients of the failed pass were dropped";
  EXPECT_EQ(clock.steps()[3].backwards, 1u);
}

TEST(StepClockTest, ExplicitMarksWin) {
  const StepClock clock = ClockOf(Times(2, Times(3, Times(4, "fzbs") + "!") + "#"));
  EXPECT_EQ(clock.source(), StepSource::kExplicit);
  EXPECT_EQ(clock.step_count(), 6u);
  EXPECT_EQ(clock.complete_epochs(), 2u);
  EXPECT_EQ(clock.steps()[1].backwards, 4u);
}

TEST(StepClockTest, EpochsMarkedWhereTheyBegin) {
  const StepClock clock = ClockOf(Times(3, "#" + Times(4, "zbs")));
  EXPECT_EQ(clock.complete_epochs(), 2u);
  EXPECT_EQ(clock.epochs().size(), 3u);
  EXPECT_EQ(clock.epochs()[2].first_step, 9u);
}

TEST(StepClockTest, CustomOptimizerIsReplacedByBackwardPasses) {
  const StepClock by_zero = ClockOf(Times(6, "zfbfb"));
  EXPECT_EQ(by_zero.source(), StepSource::kBackward);
  EXPECT_EQ(by_zero.step_count(), 6u);
  EXPECT_EQ(by_zero.confidence(), Confidence::kMedium);
  EXPECT_EQ(ClockOf(Times(6, "fb")).step_count(), 6u);
  EXPECT_EQ(ClockOf(Times(6, "b")).confidence(), Confidence::kLow);
}

TEST(StepClockTest, InferenceHasBatchesAndNoSteps) {
  const StepClock clock = ClockOf(Times(30, "f") + "x");
  EXPECT_EQ(clock.source(), StepSource::kFetch);
  EXPECT_EQ(clock.step_count(), 0u);
  EXPECT_EQ(clock.last_bucket(), 30u);
  EXPECT_EQ(clock.unit(), "batch");
}

TEST(StepClockTest, NoMarksGiveSlicesOfTime) {
  MarkLog log;
  log.Finish();
  const StepClock clock = StepClock::Build(
      log, {.begin_time = 1000, .end_time = 25000, .max_time_buckets = 24, .seconds_per_time_unit = 1e-3});
  EXPECT_EQ(clock.source(), StepSource::kTime);
  EXPECT_EQ(clock.step_count(), 0u);
  EXPECT_EQ(clock.last_bucket(), 24u);
  EXPECT_EQ(clock.BucketOf(1001), 1u);
  EXPECT_EQ(clock.BucketOf(25000), 24u);
  EXPECT_EQ(clock.sentence(), "no training steps were found; time-based, in 24 slices of 1 s.");
}

TEST(StepClockTest, EmptyTraceHasNoBuckets) {
  MarkLog log;
  const StepClock clock = StepClock::Build(log, {});
  EXPECT_EQ(clock.last_bucket(), 0u);
  EXPECT_EQ(clock.BucketOf(5), 0u);
}

TEST(StepClockTest, TheEndOfAStepStillBelongsToIt) {
  const StepClock clock = ClockOf(Times(3, "fzbs"));  // steps end at 135, 175, 215
  EXPECT_EQ(clock.BucketOf(99), 0u);
  EXPECT_EQ(clock.BucketOf(100), 1u);
  EXPECT_EQ(clock.BucketOf(135), 1u);
  EXPECT_EQ(clock.BucketOf(136), 2u);
  EXPECT_EQ(clock.BucketOf(215), 3u);
  EXPECT_EQ(clock.BucketOf(216), 4u) << "the tail";
  EXPECT_EQ(clock.bucket_count(), 5u);
  EXPECT_EQ(clock.BucketBegin(2), 135u);
  EXPECT_EQ(clock.BucketEnd(0), 100u);
  EXPECT_EQ(clock.BucketEnd(4), 270u);
}

TEST(StepClockTest, CheckpointsOfSeveralFilesAreOne) {
  const StepClock clock = ClockOf(Times(4, Times(5, "fzbs") + "cc"));
  ASSERT_EQ(clock.checkpoints().size(), 4u);
  EXPECT_EQ(clock.checkpoints()[1].after_step, 10u);
}

TEST(StepClockTest, LengthOfTheLoaderIsKnownBeforeTheFirstEpochEnds) {
  MarkLog log;
  log.Add(90, 1, trace::MarkKind::kNote, trace::MarkSource::kSiteCustomize, 0,
          "loader batches=332 batch_size=2 examples=663");
  const uint64_t end = AddLoop(&log, Times(20, "zfbfbfbfbs"));
  const StepClock clock = ClockOf(&log, end);
  EXPECT_EQ(clock.complete_epochs(), 0u);
  EXPECT_EQ(clock.steps_per_epoch(), 83.0);
  EXPECT_FALSE(clock.steps_per_epoch_is_measured());
  EXPECT_EQ(clock.examples_per_step(), 8.0);
  EXPECT_EQ(clock.dataset_examples(), 663u);
}

TEST(StepClockTest, StepsReportedTwiceCountOnce) {
  MarkLog log;
  uint64_t time = 100;
  for (int i = 0; i < 10; ++i) {
    time = AddLoop(&log, "zbs", time);
    log.Add(time, 1, trace::MarkKind::kStep, trace::MarkSource::kSiteCustomize, 0, "Adam");
  }
  EXPECT_EQ(ClockOf(&log, time + 10).step_count(), 10u);
}

TEST(StepClockTest, StartUpHookAloneGivesTheSteps) {
  const StepClock clock =
      ClockOf(Times(10, "zbs"), {.has_sites = false, .source = trace::MarkSource::kSiteCustomize});
  EXPECT_EQ(clock.step_count(), 10u);
}

TEST(StepClockTest, TheBusiestThreadIsTheClock) {
  MarkLog log;
  const uint64_t end = AddLoop(&log, Times(20, "zbs"), 100, {.stream = 3});
  AddLoop(&log, Times(5, "zbs"), 103, {.stream = 8});
  const StepClock clock = ClockOf(&log, end);
  EXPECT_EQ(clock.stream(), 3u);
  EXPECT_EQ(clock.step_count(), 20u);
  EXPECT_EQ(clock.confidence(), Confidence::kMedium);
  EXPECT_THAT(clock.sentence(), HasSubstr("1 other thread also took optimizer steps"));
}

TEST_P(EveryWay, RunKilledInsideAFetchIsReadLikeAnyOther) {
  for (const bool is_in_training : {true, false}) {
    MarkLog log;
    const LoopTextOptions options = {.has_sites = GetParam() != kUnknown,
                                     .has_one_site = GetParam() == kAllEqual};
    const uint64_t end =
        AddLoop(&log, Times(3, Times(5, "fzbs") + "vvvyvvy") + (is_in_training ? "" : "v"), 100, options);
    log.Add(end, 1, trace::MarkKind::kFetchBegin, trace::MarkSource::kRecordFunction, 0, {});
    const StepClock clock = ClockOf(&log, end + 10);
    EXPECT_EQ(clock.step_count(), 15u);
    EXPECT_EQ(clock.complete_epochs(), 0u);
    EXPECT_EQ(clock.evaluations().size(), 3u);
    EXPECT_EQ(clock.confidence(), Confidence::kHigh);
  }
}

TEST(StepClockTest, CutRunHasAnIncompleteEpoch) {
  const StepClock clock = ClockOf(Times(10, "fzbs") + "x" + Times(4, "fzbs") + "fz");
  ASSERT_EQ(clock.epochs().size(), 2u);
  EXPECT_FALSE(clock.epochs()[1].is_complete);
  EXPECT_EQ(clock.epochs()[1].first_step, 11u);
  EXPECT_EQ(clock.epochs()[1].last_step, 14u);
}

}  // namespace
}  // namespace plateau::series

// Loops over iterators as text: a letter names the iterator (small: a batch, capital: it ran out), 'b' is a backward
// pass, 's' an optimizer step. Each takes ten units of time.
#include "analyzer/series/clock/passes_by_loader.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <string_view>

#include "preload/trace/fetch_mark.h"
#include "tests/analyzer/series/clock/loop_text.h"

namespace plateau::series {
namespace {

struct Text {
  MarkLog log;
  uint64_t time = 100;

  void Describe(char iterator, std::string_view note) {
    log.Add(time, 1, trace::MarkKind::kNote, trace::MarkSource::kSiteCustomize, Address(iterator), note);
    time += 10;
  }
  void Add(std::string_view text, bool gradients_off = false) {
    for (char letter : text) {
      if (letter == 'b' || letter == 's') {
        time = AddLoop(&log, std::string(1, letter), time);
        continue;
      }
      const bool is_stop = std::isupper(static_cast<unsigned char>(letter)) != 0;
      const char iterator = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      log.Add(time, 1, trace::MarkKind::kFetchBegin, trace::MarkSource::kRecordFunction, 0, {});
      log.Add(time + 4, 1, is_stop ? trace::MarkKind::kFetchStop : trace::MarkKind::kFetchEnd,
              trace::MarkSource::kRecordFunction,
              trace::EncodeFetchMark({true, gradients_off, trace::IteratorOfAddress(Address(iterator))}), {});
      time += 10;
    }
  }
  // A batch is fetched in a thread of its own.
  void FetchInThread(uint32_t thread, char iterator, bool is_stop = false) {
    log.Add(time, thread, trace::MarkKind::kFetchBegin, trace::MarkSource::kRecordFunction, 0, {});
    log.Add(time + 4, thread, is_stop ? trace::MarkKind::kFetchStop : trace::MarkKind::kFetchEnd,
            trace::MarkSource::kRecordFunction,
            trace::EncodeFetchMark({true, false, trace::IteratorOfAddress(Address(iterator))}), {});
    time += 10;
  }
  StepClock Clock() { return ClockOf(&log, time + 50); }

 private:
  static uint64_t Address(char iterator) { return static_cast<uint64_t>(iterator) * 64; }
};

StepClock ClockOfText(std::string_view text) {
  Text loop;
  loop.Add(text);
  return loop.Clock();
}

TEST(PassesByLoaderTest, APrefetcherMayBeStartedForEachEpoch) {
  Text loop;
  const char iterators[] = "pqr";
  for (uint32_t epoch = 0; epoch < 3; ++epoch) {
    loop.FetchInThread(5 + epoch, iterators[epoch]);
    for (int batch = 1; batch < 6; ++batch) {
      loop.FetchInThread(5 + epoch, iterators[epoch]);
      loop.Add("bs");
    }
    loop.FetchInThread(5 + epoch, iterators[epoch], true);
    loop.Add("bs");
  }
  const StepClock clock = loop.Clock();
  EXPECT_EQ(clock.step_count(), 18u);
  EXPECT_EQ(clock.complete_epochs(), 3u);
  EXPECT_EQ(clock.steps_per_epoch(), 6);
}

TEST(PassesByLoaderTest, OneBatchAheadIsAnEpochEach) {
  const StepClock clock = ClockOfText(
      "ppbspbspbsPbs"
      "qqbsqbsqbsQbs");
  EXPECT_EQ(clock.step_count(), 8u);
  ASSERT_EQ(clock.complete_epochs(), 2u);
  EXPECT_EQ(clock.epochs()[0].last_step, 4u);
  EXPECT_EQ(clock.steps_per_epoch(), 4);
  EXPECT_TRUE(clock.evaluations().empty());
}

TEST(PassesByLoaderTest, KilledInTheLastForwardPassIsNoEpoch) {
  EXPECT_EQ(ClockOfText("ppbspbspbsP").complete_epochs(), 0u) << "one batch ahead";
  EXPECT_EQ(ClockOfText("ppbspbsPbs"
                        "qqbsqbsQ")
                .complete_epochs(),
            1u);
  EXPECT_EQ(ClockOfText("pbspbspbsP").complete_epochs(), 1u) << "a plain loop that ran out";
  EXPECT_EQ(ClockOfText("pbspbspbsPq").evaluations().size(), 0u) << "the next pass had begun";
}

TEST(PassesByLoaderTest, AKnownLengthEndsAPassThatIsNotAskedAgain) {
  for (bool is_trained : {true, false}) {
    Text loop;
    for (char iterator : {'p', 'q'}) {
      loop.Describe(iterator, "loader batches=3 batch_size=2 examples=6");
      const std::string one(1, iterator);
      loop.Add(one + one + "bs" + one + "bs" + (is_trained || iterator == 'p' ? "bs" : ""));
    }
    EXPECT_EQ(loop.Clock().complete_epochs(), is_trained ? 2u : 1u);
  }
}

TEST(PassesByLoaderTest, EvaluationsInsideAPass) {
  const StepClock clock = ClockOfText(
      "pbspbs"
      "eeE"
      "pbspbs"
      "ffF"
      "P");
  EXPECT_EQ(clock.complete_epochs(), 1u);
  EXPECT_EQ(clock.evaluations().size(), 2u);
  EXPECT_EQ(clock.steps_per_epoch(), 4);
}

TEST(PassesByLoaderTest, AnEvaluationWithoutGradientsIsOneEvenIfTrainingFollows) {
  Text loop;
  loop.Describe('p', "loader batches=3 batch_size=2 examples=6");
  loop.Add("ppbspbs");
  loop.Add("e", /*gradients_off=*/true);
  loop.Add("bs");  // the batch that was fetched ahead
  const StepClock clock = loop.Clock();
  EXPECT_EQ(clock.complete_epochs(), 1u);
  EXPECT_EQ(clock.evaluations().size(), 1u);
}

TEST(PassesByLoaderTest, LoadersOfDifferentPhasesAllMakeEpochs) {
  Text loop;
  for (char iterator : {'p', 'q', 'r'}) {
    loop.Describe(iterator, "loader batches=2 batch_size=2 examples=4");
    const std::string one(1, iterator);
    loop.Add(one + "bs" + one + "bs" + static_cast<char>(std::toupper(iterator)));
  }
  for (char iterator : {'u', 'v'}) {
    loop.Describe(iterator, "loader batches=6 batch_size=2 examples=12");
    for (int batch = 0; batch < 6; ++batch) loop.Add(std::string(1, iterator) + "bs");
    loop.Add(std::string(1, static_cast<char>(std::toupper(iterator))));
  }
  const StepClock clock = loop.Clock();
  EXPECT_EQ(clock.step_count(), 18u);
  EXPECT_EQ(clock.complete_epochs(), 5u);
  EXPECT_EQ(clock.steps_per_epoch(), 6) << "most of the training";
}

TEST(PassesByLoaderTest, LoadersInTurnsMakeOneEpochTogether) {
  Text loop;
  for (int epoch = 0; epoch < 2; ++epoch) {
    loop.Describe('p', "loader batches=2 batch_size=2 examples=4");
    loop.Add("pbspbsP");
    loop.Describe('q', "loader batches=3 batch_size=2 examples=6");
    loop.Add("qbsqbsqbsQ");
  }
  const StepClock clock = loop.Clock();
  EXPECT_EQ(clock.complete_epochs(), 2u);
  EXPECT_EQ(clock.steps_per_epoch(), 5);
}

TEST(PassesByLoaderTest, LoadersInStep) {
  EXPECT_EQ(ClockOfText("pqbspqbsP"
                        "uvbsuvbsU")
                .complete_epochs(),
            2u);
  EXPECT_EQ(ClockOfText("pqbspqbsP"
                        "uvbsuvbsU")
                .steps_per_epoch(),
            2);
  EXPECT_TRUE(ClockOfText("pqbspqbsP"
                          "uvbsuvbsU")
                  .evaluations()
                  .empty());
}

TEST(PassesByLoaderTest, ALoaderThatIsAskedNoMoreIsReplayed) {
  const StepClock clock = ClockOfText("pbspbspbsP" + Times(7, "bs"));
  EXPECT_EQ(clock.step_count(), 10u);
  EXPECT_EQ(clock.complete_epochs(), 3u);
  EXPECT_EQ(clock.steps_per_epoch(), 3);
}

TEST(PassesByLoaderTest, APassThatGoesOnFromACheckpoint) {
  Text loop;
  loop.Describe('p', "loader batches=2 batch_size=2 examples=8 skipped=2 order=shuffled");
  loop.Add("pbspbsP");
  loop.Describe('q', "loader batches=4 batch_size=2 examples=8 order=shuffled");
  loop.Add("qbsqbsqbsqbsQ");
  const StepClock clock = loop.Clock();
  EXPECT_EQ(clock.complete_epochs(), 2u);
  EXPECT_EQ(clock.steps_per_epoch(), 4);
  EXPECT_EQ(clock.steps_before_run(), 2);
  EXPECT_EQ(clock.ExpectedExamples(), (std::vector<double>{0, 2, 4, 5, 6, 7, 8}));
}

TEST(PassesByLoaderTest, AWorkerSeesItsShareOfEachPass) {
  Text loop;
  loop.Describe('p', "loader batches=4 batch_size=2 examples=8 workers=2 order=shuffled");
  loop.Add("pbspbspbspbsP");
  loop.Describe('q', "loader batches=4 batch_size=2 examples=8 workers=2 order=shuffled");
  loop.Add("qbsqbsqbsqbsQ");
  const StepClock clock = loop.Clock();
  EXPECT_EQ(clock.loader_workers(), 2u);
  EXPECT_TRUE(clock.ExpectedExamples().empty());
  EXPECT_EQ(clock.ExpectedExamplesOfWorker(), (std::vector<double>{0, 1, 2, 3, 4, 4.5, 5, 5.5, 6}));
}

TEST(PassesByLoaderTest, AWorkerWithAnOrderThatStaysSeesTheSameShareAgain) {
  Text loop;
  loop.Describe('p', "loader batches=2 batch_size=2 examples=4 workers=2 order=kept");
  loop.Add("pbspbsP");
  EXPECT_TRUE(loop.Clock().ExpectedExamplesOfWorker().empty());
}

TEST(PassesByLoaderTest, ABatchNowAndThenIsAnEvaluationEach) {
  EXPECT_EQ(ClockOfText("pbspbsepbspbsepbspbseP").evaluations().size(), 3u);
}

TEST(PassesByLoaderTest, TheRestOfAPassIsOfTheSameSeriesThoughItsLoaderSaysLess) {
  Text loop;
  loop.Describe('p', "loader batches=2 examples=8 dataset=5 order=shuffled skipped=2");
  loop.Add("pbspbsP");
  for (int epoch = 0; epoch < 2; ++epoch) {
    loop.Describe('q', "loader batches=4 batch_size=2 examples=8 dataset=5 order=shuffled");
    loop.Add("qbsqbsqbsqbsQ");
  }
  const StepClock clock = loop.Clock();
  EXPECT_EQ(clock.step_count(), 10u);
  ASSERT_EQ(clock.complete_epochs(), 3u);
  EXPECT_EQ(clock.epochs()[0].last_step, 2u);
  EXPECT_EQ(clock.epochs()[1].last_step, 6u);
  EXPECT_EQ(clock.steps_per_epoch(), 4);
  EXPECT_EQ(clock.steps_before_run(), 2);
}

}  // namespace
}  // namespace plateau::series

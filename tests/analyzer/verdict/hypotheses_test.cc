// What is blamed by name: who made what stays, and what follows from it for who keeps it.
#include "analyzer/verdict/hypotheses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/verdict/vocabulary/number_text.h"
#include "analyzer/verdict/vocabulary/shape_text.h"
#include "tests/analyzer/verdict/scenario.h"

namespace plateau::verdict {
namespace {

using series::BirthPhase;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kSteps = 180;

class HypothesesTest : public testing::Test {
 protected:
  HypothesesTest() : run(kSteps) {
    run.epoch_steps = 60;
    run.examples_per_step = 8;
    run.input.has_python = true;
    run.AddOrdinaryTraining(500 * kMiB, 50 * kMiB);
  }

  void Leak(SiteInfo info, BirthPhase phase, int per_step = 1) {
    const size_t site = run.AddSite(std::move(info));
    for (int64_t step = 1; step <= kSteps; ++step) {
      for (int i = 0; i < per_step; ++i) run.Keep(site, step, 1 * kMiB / per_step);
    }
    run.Born(site, phase, kSteps * kMiB);
  }

  const Hypothesis& Find(const std::string& name) {
    if (analysis.hypotheses.empty()) analysis = run.Analyse();
    for (const Hypothesis& hypothesis : analysis.hypotheses) {
      if (hypothesis.name == name) return hypothesis;
    }
    ADD_FAILURE() << "no hypothesis " << name;
    static const Hypothesis none;
    return none;
  }

  Scenario run;
  Analysis analysis;
};

TEST_F(HypothesesTest, ForwardResultsThatStayAreAKeptGraph) {
  Leak({.name = "train.py:26 in <module>",
        .frames = {"at::_ops::relu::call", "ReLU.forward activation.py", "Module._call_impl module.py"},
        .operators = {"relu", "log_softmax"}},
       BirthPhase::kOther);
  EXPECT_EQ(Find("autograd graph kept").result, HypothesisResult::kSupported);
  EXPECT_THAT(Find("autograd graph kept").evidence, HasSubstr("made by relu, log_softmax"));
  ASSERT_FALSE(analysis.patterns.empty());
  EXPECT_STREQ(analysis.patterns.front().pattern->id, "K06");
  EXPECT_TRUE(analysis.patterns.front().explains_headline);
}

// Nodes of a graph are small, and what was freed between them cannot be given back: the line that makes them is the
// headline, so its cause is not ruled out because the nodes themselves are few bytes.
TEST_F(HypothesesTest, AGraphWhoseNodesHoldTheHeapOpenIsNotRuledOut) {
  run.epoch_steps = 0;
  run.input.run.has_no_pass = true;
  const size_t site = run.AddSite({.name = "train.py:8",
                                   .frames = {"Linear.forward linear.py", "Module._call_impl module.py"},
                                   .operators = {"addmm"}});
  for (int64_t step = 1; step <= kSteps; ++step) {
    for (int i = 0; i < 4; ++i) run.Keep(site, step, 4 * 1024);
  }
  run.allocator_slack = [](int64_t step) { return static_cast<double>(step) * 2 * kMiB; };
  const Hypothesis& graph = Find("autograd graph kept");
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kUnboundedGrowth);
  EXPECT_EQ(analysis.process.headline_site, site);
  EXPECT_EQ(graph.result, HypothesisResult::kSupported);
  EXPECT_THAT(graph.evidence, HasSubstr("the headline is about it"));
  ASSERT_FALSE(analysis.patterns.empty());
  EXPECT_STREQ(analysis.patterns.front().pattern->id, "K06");
}

TEST_F(HypothesesTest, AdviceForTheLeakComesBeforeAdviceForALargerGap) {
  Leak({.name = "train.py:26", .frames = {"ReLU.forward activation.py"}, .operators = {"relu"}},
       BirthPhase::kForward);
  run.allocator_slack = [](int64_t step) { return static_cast<double>(step) * 2 * kMiB; };
  EXPECT_EQ(Find("allocator fragmentation").result, HypothesisResult::kSupported);
  ASSERT_EQ(analysis.patterns.size(), 2u);
  EXPECT_STREQ(analysis.patterns[0].pattern->id, "K06");
  EXPECT_STREQ(analysis.patterns[1].pattern->id, "K09");
  EXPECT_FALSE(analysis.patterns[1].explains_headline);
}

TEST_F(HypothesesTest, AClockThatCountsNoStepsHasNoRateAStep) {
  run.allocator_slack = [](int64_t step) { return static_cast<double>(step) * 2 * kMiB; };
  run.input.run.unit = series::StepUnit::kBytePart;
  EXPECT_THAT(Find("allocator fragmentation").evidence, HasSubstr("rose by"));
  EXPECT_THAT(Find("allocator fragmentation").evidence, Not(HasSubstr("lately")));
}

TEST_F(HypothesesTest, InputsThatStayAreNoGraph) {
  Leak({.name = "MakeBatch (train.cc:30)",
        .frames = {"at::_ops::full::call", "MakeBatch"},
        .operators = {"full"}},
       BirthPhase::kForward);
  EXPECT_EQ(Find("autograd graph kept").result, HypothesisResult::kRuledOut);
}

TEST_F(HypothesesTest, KeptBatchesDoNotConvictWhoMadeThem) {
  Leak({.name = "train.py:21",
        .frames = {"at::_ops::stack::call", "default_collate collate.py", "_MapDatasetFetcher.fetch fetch.py",
                   "__next__ dataloader.py", "<module> train.py"},
        .operators = {"stack"}},
       BirthPhase::kFetch);
  EXPECT_EQ(Find("dataset loading").result, HypothesisResult::kRuledOut);
  EXPECT_THAT(Find("dataset loading").evidence,
              HasSubstr("batches that stay after they were handed to the loop"));
  EXPECT_EQ(Find("collator").result, HypothesisResult::kNotTestable);
  EXPECT_THAT(Find("collator").evidence, HasSubstr("not who keeps them"));
  EXPECT_EQ(Find("autograd graph kept").result, HypothesisResult::kRuledOut);
}

TEST_F(HypothesesTest, KeptExamplesAreTheDataSetsDoing) {
  Leak({.name = "data.py:12 in __getitem__", .frames = {"__getitem__ data.py", "fetch fetch.py"}},
       BirthPhase::kFetch, 8);
  EXPECT_EQ(Find("dataset loading").result, HypothesisResult::kSupported);
  EXPECT_EQ(Find("collator").result, HypothesisResult::kRuledOut);
}

// Stairs of 1.4 % of the process by now: less than matters in its peak, and the cause of what it will be.
TEST_F(HypothesesTest, TheCauseOfTheHeadlineIsNotRuledOutHoweverLittleItIsByNow) {
  const size_t site =
      run.AddSite({.name = "validate (train.py:29)", .frames = {"linear", "validate train.py"}});
  for (int64_t step = 30; step <= kSteps; step += 30) {
    run.evaluations.push_back(step);
    run.Keep(site, step, kMiB / 4);
    run.Born(site, BirthPhase::kEvaluation, kMiB / 4);
  }
  analysis = run.Analyse();
  ASSERT_EQ(analysis.process.headline.kind, VerdictKind::kStaircase) << analysis.process.headline.sentence;
  EXPECT_EQ(Find("evaluation").result, HypothesisResult::kSupported);
}

TEST_F(HypothesesTest, LeakElsewhereDoesNotClearTheLists) {
  Leak({.name = "train.py:26", .frames = {"step train.py"}}, BirthPhase::kOther);
  EXPECT_EQ(Find("log and metric lists").result, HypothesisResult::kNotTestable);
}

TEST_F(HypothesesTest, WhileTheHeadlineIsUndecidedNothingThatMayExplainItIsRuledOut) {
  run.epoch_steps = 400;  // the first pass is not over
  Leak({.name = "train.py:26", .frames = {"ReLU.forward activation.py"}, .operators = {"relu"}},
       BirthPhase::kForward);
  analysis = run.Analyse();
  ASSERT_EQ(analysis.process.headline.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(Find("autograd graph kept").result, HypothesisResult::kSupported);
  EXPECT_EQ(Find("log and metric lists").result, HypothesisResult::kNotTestable);
  EXPECT_EQ(Find("garbage collection delay").result, HypothesisResult::kNotTestable);
}

TEST_F(HypothesesTest, HealthyRunClearsTheLists) {
  EXPECT_EQ(Find("log and metric lists").result, HypothesisResult::kRuledOut);
  EXPECT_EQ(Find("collator").result, HypothesisResult::kRuledOut);
}

TEST_F(HypothesesTest, WithoutStepsGrowthIsToldAndNoRatePerStep) {
  // A program that loads things until its end: over time this looks like a leak with a late onset.
  const size_t loading = run.AddSite({.name = "import torch", .frames = {"import torch"}});
  for (int64_t slice = 60; slice <= kSteps; ++slice) run.Keep(loading, slice, 2 * kMiB);
  run.epoch_steps = 0;
  run.input.run.unit = series::StepUnit::kTimeSlice;
  run.input.run.seconds_per_step = 0.5;
  analysis = run.Analyse();
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kUnboundedGrowth);
  EXPECT_THAT(analysis.process.headline.sentence,
              testing::StartsWith(
                  "Grew to the end of the run at import torch, by 4.00 MiB/s, and nothing has ended it."));
  EXPECT_FALSE(analysis.process.headline.rate_bytes_per_step.has_value());
  EXPECT_EQ(analysis.sites[loading].verdict.kind, VerdictKind::kUnboundedGrowth);
  EXPECT_FALSE(analysis.sites[loading].verdict.rate_bytes_per_step.has_value());
  EXPECT_EQ(analysis.sites[loading].growth_bytes_per_step.value, 0);
  EXPECT_TRUE(analysis.patterns.empty());  // no count piles up
  EXPECT_EQ(Find("dataset loading").result, HypothesisResult::kNotTestable);
  EXPECT_EQ(Find("garbage collection delay").result, HypothesisResult::kNotTestable);
}

TEST_F(HypothesesTest, BatchesAreCalledBatches) {
  run.input.run.unit = series::StepUnit::kBatch;
  Leak({.name = "infer.py:9", .frames = {"infer.py"}}, BirthPhase::kOther);
  analysis = run.Analyse();
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kLeak);
  EXPECT_THAT(analysis.process.headline.sentence, HasSubstr("1.00 MiB/batch"));
  EXPECT_THAT(analysis.process.headline.sentence, HasSubstr("older than 1 batch was freed"));
  EXPECT_THAT(analysis.process.headline.sentence, Not(HasSubstr("step")));
}

TEST(SentenceTest, OneIsSingular) {
  EXPECT_EQ(CountText(1, "step"), "1 step");
  EXPECT_EQ(CountText(2, "step"), "2 steps");
  EXPECT_EQ(CountText(0, "step"), "0 steps");
  EXPECT_EQ(CountText(1.6, "object"), "1.6 objects");
}

TEST(SentenceTest, ShapesHavePlainWords) {
  for (const char* name : {"zero",
                           "constant",
                           "delayed_constant",
                           "two_levels",
                           "box",
                           "delayed_box",
                           "exponential",
                           "exponential_plus_constant",
                           "power_law",
                           "flat",
                           "line",
                           "hinge",
                           "broken_line",
                           "flat_then_line",
                           "step",
                           "saturation",
                           "saturation_plus_line",
                           "logarithm",
                           "levels_4",
                           "event_stairs",
                           "event_step",
                           "epoch_stairs"}) {
    EXPECT_THAT(ShapeText(name), Not(HasSubstr("_"))) << name;
    EXPECT_NE(ShapeText(name), name);
  }
  EXPECT_TRUE(IsEndless("constant"));
  EXPECT_FALSE(IsEndless("box"));
}

}  // namespace
}  // namespace plateau::verdict

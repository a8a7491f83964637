#include "analyzer/verdict/judge_holding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "analyzer/verdict/honesty.h"
#include "tests/analyzer/verdict/scenario.h"

namespace plateau::verdict {
namespace {

using series::HeldBy;
using series::HolderPath;
using series::LengthReading;
using series::SiteHolding;

constexpr int64_t kSteps = 200;
constexpr double kBytes = 4 * kMiB;

// A training in which one line makes an object a step, and what looks at 32, 64, 128 steps saw of who holds it.
class JudgeHoldingTest : public testing::Test {
 protected:
  JudgeHoldingTest() : run(kSteps) {
    run.epoch_steps = 50;
    run.examples_per_step = 8;
    run.input.has_python = true;
    run.AddOrdinaryTraining();
    site = run.AddSite({.name = "remember (client.py:9)", .frames = {"remember client.py"}});
  }

  void KeepOneAStep(int64_t from = 1, int64_t to = kSteps) {
    for (int64_t step = from; step <= to; ++step) run.Keep(site, step, kBytes);
  }
  // Items as a deque or a cache of `bound` items has them when one is added a step.
  void KeepTheLast(int64_t bound) {
    for (int64_t step = 1; step <= kSteps; ++step) run.Churn(site, step, kBytes, bound);
  }
  HolderPath& HeldBy(std::vector<LengthReading> lengths, double share = 1) {
    run.input.holdings.resize(site + 1);
    SiteHolding& holding = run.input.holdings[site];
    holding.looked_at = 64;
    HolderPath& path = holding.paths.emplace_back();
    path.text = "client._cache[*]";
    path.container = "client._cache";
    path.container_type = "dict";
    path.share = share;
    path.lengths = std::move(lengths);
    return path;
  }
  const Verdict& Judge() {
    analysis = run.Analyse();
    return analysis.sites[site].verdict;
  }

  Scenario run;
  size_t site;
  Analysis analysis;
};

TEST_F(JudgeHoldingTest, WithoutALookItGrowsWithoutEnd) {
  KeepOneAStep();
  const VerdictKind without = Judge().kind;
  EXPECT_TRUE(GrowsWithoutEnd(without)) << VerdictName(without);
}

TEST_F(JudgeHoldingTest, AFillKnowsItsFinalSizeAndStep) {
  KeepOneAStep();
  HeldBy({{32, 32, 1000}, {64, 64, 1000}, {128, 128, 1000}});
  const Verdict& verdict = Judge();
  ASSERT_EQ(verdict.kind, VerdictKind::kCacheFill) << verdict.sentence;
  ASSERT_TRUE(verdict.plateau_bytes.has_value());
  EXPECT_NEAR(verdict.plateau_bytes->value, 1000 * kBytes, 0.02 * 1000 * kBytes);
  EXPECT_NEAR(verdict.knee_step->value, 1000, 20);
  EXPECT_NE(verdict.sentence.find("client._cache (dict, 128 of at most 1,000 items"), std::string::npos)
      << verdict.sentence;
  EXPECT_FALSE(IsLeak(analysis.process.headline.kind)) << analysis.process.headline.sentence;
}

TEST_F(JudgeHoldingTest, ABoundDecidesWhatTheEpochWould) {
  run.epoch_steps = 0;
  KeepOneAStep();
  HeldBy({{32, 32, 1000}, {64, 64, 1000}, {128, 128, 1000}});
  EXPECT_EQ(Judge().kind, VerdictKind::kCacheFill);
}

TEST_F(JudgeHoldingTest, ALeakInABoundedContainerStaysALeak) {
  // The container is full at 16 items, what is in it grows on.
  KeepOneAStep();
  HeldBy({{32, 16, 16}, {64, 16, 16}, {128, 16, 16}});
  EXPECT_TRUE(GrowsWithoutEnd(Judge().kind));
}

TEST_F(JudgeHoldingTest, ItemsThatGrowThemselvesAreNotBounded) {
  for (int64_t step = 1; step <= kSteps; ++step) run.Keep(site, step, kBytes);
  // A quarter of an item a step: each item has ever more bytes.
  HeldBy({{32, 24, 1000}, {64, 32, 1000}, {128, 40, 1000}});
  EXPECT_TRUE(GrowsWithoutEnd(Judge().kind));
}

TEST_F(JudgeHoldingTest, AContainerThatHoldsHalfOfItBoundsNothing) {
  KeepOneAStep();
  HeldBy({{32, 32, 1000}, {64, 64, 1000}, {128, 128, 1000}}, /*share=*/0.5);
  EXPECT_TRUE(GrowsWithoutEnd(Judge().kind));
}

TEST_F(JudgeHoldingTest, OneLookIsNotEnoughForABound) {
  KeepOneAStep();
  HeldBy({{32, 32, 1000}});
  EXPECT_TRUE(GrowsWithoutEnd(Judge().kind));
}

TEST_F(JudgeHoldingTest, AFullContainerIsAtItsEnd) {
  KeepTheLast(64);
  HeldBy({{32, 32, 64}, {64, 64, 64}, {128, 64, 64}});
  const Verdict& verdict = Judge();
  EXPECT_FALSE(GrowsWithoutEnd(verdict.kind)) << verdict.sentence;
  EXPECT_FALSE(IsLeak(analysis.process.headline.kind));
}

TEST_F(JudgeHoldingTest, AContainerThatGrowsMakesNoLeakOfAnOpenVerdict) {
  run.epoch_steps = 1000;  // the first pass goes on
  KeepOneAStep();
  HeldBy({{32, 32}, {64, 64}, {128, 128}});
  const Verdict& verdict = Judge();
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << verdict.sentence;
  EXPECT_EQ(verdict.evidence.held_by, "client._cache (dict, 128 items, +1 a step)");
}

TEST_F(JudgeHoldingTest, ALengthThatStandsStillChangesNothing) {
  KeepOneAStep();
  const VerdictKind before = Judge().kind;
  Scenario again(kSteps);
  std::swap(run, again);
  run.epoch_steps = 50;
  run.examples_per_step = 8;
  run.input.has_python = true;
  run.AddOrdinaryTraining();
  site = run.AddSite({.name = "remember (client.py:9)", .frames = {"remember client.py"}});
  KeepOneAStep();
  HeldBy({{32, 5}, {64, 5}, {128, 5}});
  EXPECT_EQ(Judge().kind, before);
}

TEST_F(JudgeHoldingTest, NoAllClearOverAContainerThatGrewToTheEnd) {
  // What lives long and has not died yet: steady by its series when most of it is young.
  HeldBy({{32, 32}, {64, 64}, {128, 128}});
  KeepOneAStep();
  series::SiteSeries series(kSteps);
  for (int64_t step = 1; step <= kSteps; ++step) {
    series.alloc_bytes[static_cast<size_t>(step)] = kBytes;
    series.alloc_count[static_cast<size_t>(step)] = 1;
  }
  series::RunContext context;
  context.steps = kSteps;
  for (const VerdictKind kind :
       {VerdictKind::kSteady, VerdictKind::kWarmupComplete, VerdictKind::kSpikeRecovered}) {
    Verdict verdict;
    verdict.kind = kind;
    Estimate growth;
    JudgeHolding(run.input.holdings[site], series, 1, context, &verdict, &growth);
    EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << VerdictName(kind);
    EXPECT_EQ(verdict.reason, Reason::kContainerGrows);
    EXPECT_NEAR(growth.value, kBytes, 0.01 * kBytes);
  }
}

TEST_F(JudgeHoldingTest, AContainerThatGrowsWhileItsBytesDoNotKeepsTheAllClear) {
  HeldBy({{32, 32}, {64, 64}, {128, 128}});
  series::SiteSeries series(kSteps);
  series.alloc_bytes[1] = 40 * kBytes;  // made once
  series::RunContext context;
  context.steps = kSteps;
  Verdict verdict;
  verdict.kind = VerdictKind::kSteady;
  Estimate growth;
  JudgeHolding(run.input.holdings[site], series, 1, context, &verdict, &growth);
  EXPECT_EQ(verdict.kind, VerdictKind::kSteady);
}

TEST_F(JudgeHoldingTest, AContainerThatWasEmptiedLaterKeepsTheAllClear) {
  HeldBy({{32, 32}, {64, 64}, {128, 128}});
  series::SiteSeries series(kSteps);
  for (size_t step = 1; step <= 150; ++step) series.alloc_bytes[step] = kBytes;
  series.free_bytes[160] = 150 * kBytes;
  series::RunContext context;
  context.steps = kSteps;
  Verdict verdict;
  verdict.kind = VerdictKind::kSteady;
  Estimate growth;
  JudgeHolding(run.input.holdings[site], series, 1, context, &verdict, &growth);
  EXPECT_EQ(verdict.kind, VerdictKind::kSteady);
}

TEST_F(JudgeHoldingTest, AsManyItemsAsTheDataSetTwiceIsAFillThatIsComplete) {
  HeldBy({{32, 400}, {64, 663}, {128, 663}});
  series::SiteSeries series(kSteps);
  for (size_t step = 1; step <= 60; ++step) series.alloc_bytes[step] = kBytes;
  series::RunContext context;
  context.steps = kSteps;
  context.dataset_examples = 663;
  Verdict verdict;
  verdict.kind = VerdictKind::kInconclusive;
  verdict.reason = Reason::kEpochUnknown;
  Estimate growth{kBytes, std::nullopt};
  JudgeHolding(run.input.holdings[site], series, 1, context, &verdict, &growth);
  EXPECT_EQ(verdict.kind, VerdictKind::kCacheFill);
  EXPECT_TRUE(verdict.evidence.complete.value_or(false));
  EXPECT_EQ(growth.value, 0);
  // Once may be on the way past it.
  run.input.holdings[site].paths[0].lengths = {{32, 400}, {64, 550}, {128, 663}};
  verdict = {};
  verdict.reason = Reason::kEpochUnknown;
  JudgeHolding(run.input.holdings[site], series, 1, context, &verdict, &growth);
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
}

TEST_F(JudgeHoldingTest, GarbageIsNoLeakWhileTheCollectorIsOn) {
  KeepOneAStep();
  run.input.holdings.resize(site + 1);
  run.input.holdings[site] = {.looked_at = 64, .garbage_share = 0.97};
  const Verdict& verdict = Judge();
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(verdict.reason, Reason::kWaitsForCollector);
  EXPECT_NE(verdict.sentence.find("97 % of it is garbage"), std::string::npos) << verdict.sentence;
  EXPECT_FALSE(IsAllClear(analysis.process.headline.kind)) << analysis.process.headline.sentence;
}

TEST_F(JudgeHoldingTest, GarbageGrowsWhenTheCollectorIsOff) {
  KeepOneAStep();
  run.input.holdings.resize(site + 1);
  run.input.holdings[site] = {.looked_at = 64, .garbage_share = 0.97, .is_collector_off = true};
  const Verdict& verdict = Judge();
  EXPECT_TRUE(GrowsWithoutEnd(verdict.kind));
  EXPECT_NE(verdict.sentence.find("collector is switched off"), std::string::npos) << verdict.sentence;
}

// Whatever the looks say, with any numbers, a site that nobody called a leak does not become one.
TEST_F(JudgeHoldingTest, NoLookMakesALeak) {
  uint64_t state = 12345;
  const auto random = [&state](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>((state >> 33) % below);
  };
  for (int round = 0; round < 2000; ++round) {
    series::SiteSeries series(kSteps);
    for (size_t step = 0; step <= kSteps; ++step) {
      series.alloc_bytes[step] = random(1 << 20);
      series.free_bytes[step] = random(1 << 20);
    }
    SiteHolding holding;
    holding.looked_at = 1 + random(64);
    holding.garbage_share = random(11) / 10;
    HolderPath path;
    path.share = random(11) / 10;
    path.container = "x";
    for (double step = random(9), n = random(6); n > 0; --n, step += random(90))
      path.lengths.push_back({step, random(2000), random(3) < 1 ? random(1500) : 0});
    holding.paths.push_back(path);
    series::RunContext context;
    context.steps = kSteps;
    if (random(2) > 0) context.dataset_examples = random(2000);
    Verdict verdict;
    verdict.kind = round % 2 == 0 ? VerdictKind::kSteady : VerdictKind::kInconclusive;
    Estimate growth{random(1000), std::nullopt};
    JudgeHolding(holding, series, 1, context, &verdict, &growth);
    EXPECT_FALSE(GrowsWithoutEnd(verdict.kind)) << round;
    EXPECT_TRUE(std::isfinite(verdict.plateau_bytes.value_or(Estimate{}).value)) << round;
    EXPECT_TRUE(std::isfinite(growth.value)) << round;
  }
}

}  // namespace
}  // namespace plateau::verdict

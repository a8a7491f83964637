#include "analyzer/verdict/measured_process.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plateau::verdict {
namespace {

constexpr double kMiB = 1 << 20;

series::ProcessSeries ProcessAt(std::initializer_list<double> steps, double rss_per_step) {
  series::ProcessSeries process;
  for (double step : steps) {
    process.step.push_back(step);
    process.rss.push_back(200 * kMiB + rss_per_step * step);
    process.held.push_back(100 * kMiB);
    process.live.push_back(90 * kMiB);
    process.live_peak.push_back(95 * kMiB);
    process.unexplained.push_back(rss_per_step * step);
  }
  process.knows_untouched = true;
  return process;
}

series::RunContext RunOf(int64_t steps) {
  series::RunContext run;
  run.steps = steps;
  run.reference_bytes = 200 * kMiB;
  return run;
}

TEST(MeasuredProcessTest, FourSamplesOfAQuickRunGiveASlopeWithAnEnd) {
  const MeasuredProcess measured = MeasureProcess(ProcessAt({10, 60, 120, 180}, 0), RunOf(180));
  ASSERT_TRUE(measured.facts.unexplained.known);
  EXPECT_TRUE(std::isfinite(measured.facts.unexplained.slope.high));
  EXPECT_TRUE(std::isfinite(measured.facts.resident.slope.high));
  EXPECT_NEAR(measured.facts.unexplained.slope.high, 0, 1);
}

// The first of them belongs to the beginning of the run, in which an allocator fills.
TEST(MeasuredProcessTest, FourSamplesThatRiseSayHowMuchMayGrowAndNotThatItDoes) {
  const MeasuredProcess measured = MeasureProcess(ProcessAt({10, 60, 120, 180}, 64 << 10), RunOf(180));
  EXPECT_EQ(measured.facts.unexplained.growth, Growth::kFlat);
  EXPECT_GE(measured.facts.unexplained.slope.high, 64 << 10);
}

TEST(MeasuredProcessTest, SixSamplesThatRiseGrow) {
  const MeasuredProcess measured =
      MeasureProcess(ProcessAt({10, 40, 75, 110, 145, 180}, 64 << 10), RunOf(180));
  EXPECT_EQ(measured.facts.unexplained.growth, Growth::kGrowing);
}

TEST(MeasuredProcessTest, ThreeSamplesAreTooFewToSayAnything) {
  EXPECT_FALSE(MeasureProcess(ProcessAt({10, 90, 180}, 0), RunOf(180)).facts.unexplained.known);
}

// Libraries of half a gigabyte are mapped; the heap of 100 MiB grows by 6 MiB in holes.
TEST(MeasuredProcessTest, HolesAreComparedWithTheProcessWithoutItsFiles) {
  series::ProcessSeries process;
  for (int i = 1; i <= 20; ++i) {
    process.step.push_back(9 * i);
    process.held.push_back(100 * kMiB + 0.3 * i * kMiB);
    process.rss.push_back(900 * kMiB + process.held.back());
    process.live.push_back(90 * kMiB);
    process.live_peak.push_back(95 * kMiB);
    process.unexplained.push_back(0);
  }
  process.knows_untouched = true;
  series::RunContext run = RunOf(180);
  run.reference_bytes = 1000 * kMiB;
  const ProcessFacts facts = MeasureProcess(process, run).facts;
  EXPECT_NEAR(facts.anonymous_peak_bytes, 106 * kMiB, kMiB);
  EXPECT_TRUE(facts.gap_rises);
  EXPECT_EQ(facts.gap.growth, Growth::kFlat) << "it is no fragmentation worth a headline of its own";
}

// Holes that grew by 20 MiB and stand still for the last sixth of the run.
TEST(MeasuredProcessTest, HolesThatHaveNotGrownLatelyAreNoFragmentation) {
  const auto growth = [](double until) {
    series::ProcessSeries process;
    for (int i = 1; i <= 60; ++i) {
      process.step.push_back(3 * i);
      process.held.push_back((100 + 20 * std::min(i / 60.0, until) / until) * kMiB);
      process.rss.push_back(process.held.back());
      process.live.push_back(90 * kMiB);
      process.live_peak.push_back(95 * kMiB);
    }
    return MeasureProcess(process, RunOf(180)).facts.gap.growth;
  };
  EXPECT_EQ(growth(1.0), Growth::kGrowing);
  EXPECT_NE(growth(0.84), Growth::kGrowing);
}

TEST(MeasuredProcessTest, TheLatePartIsCountedInStepsHoweverTheSamplesLie) {
  // Most samples lie in the first steps, in which the allocator warms up by 1 MiB a step; then nothing moves.
  series::ProcessSeries process = ProcessAt({}, 0);
  for (double step : {1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 60., 90., 120., 150., 180.}) {
    process.step.push_back(step);
    process.rss.push_back(200 * kMiB + std::min(step, 12.) * kMiB);
    process.held.push_back(100 * kMiB);
    process.live.push_back(90 * kMiB);
    process.live_peak.push_back(95 * kMiB);
    process.unexplained.push_back(std::min(step, 12.) * kMiB);
  }
  const MeasuredProcess measured = MeasureProcess(process, RunOf(180));
  EXPECT_EQ(measured.facts.unexplained.growth, Growth::kFlat);
  EXPECT_NEAR(measured.facts.unexplained.slope.high, 0, 1);
}

}  // namespace
}  // namespace plateau::verdict

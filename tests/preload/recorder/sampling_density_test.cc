#include "preload/recorder/sampling_density.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace plateau {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint32_t kMost = 3;

// A program that comes to `per_second` points a second for `seconds`, and defines `nodes_per_point`.
struct Program {
  SamplingDensity density;
  uint64_t now = 0;
  double nodes = 0;
  double kept = 0;
  int changes = 0;

  Program() { density.Start(kMost, 0); }
  void Run(double per_second, double seconds, double nodes_per_point = 0) {
    const auto points = static_cast<uint64_t>(per_second * seconds);
    for (uint64_t i = 0; i < points; ++i) {
      now += static_cast<uint64_t>(static_cast<double>(kSecond) / per_second);
      nodes += nodes_per_point;
      changes += density.OnPoint(now, kSecond, static_cast<uint32_t>(nodes));
      kept += static_cast<double>(1u << density.log2()) / (1u << kMost);
    }
  }
};

TEST(SamplingDensityTest, AProgramThatAllocatesLittleIsSampledDensestAllTheTime) {
  Program program;
  program.Run(300, 100);
  EXPECT_EQ(program.density.log2(), kMost);
  EXPECT_EQ(program.changes, 0);
}

TEST(SamplingDensityTest, AShortProgramIsPaidFromTheAccount) {
  Program program;
  program.Run(5000, 0.5);
  EXPECT_EQ(program.density.log2(), kMost);
}

TEST(SamplingDensityTest, WhatIsKeptBeyondTheAskedSampleIsBounded) {
  Program program;
  constexpr double kPoints = 20'000, kSeconds = 100;
  program.Run(kPoints, kSeconds);
  const double asked = kPoints * kSeconds / (1u << kMost);
  EXPECT_LE(program.kept,
            asked + SamplingDensity::kFirstAccount + 1.1 * SamplingDensity::kPerSecond * kSeconds);
  EXPECT_GE(program.kept, asked);
  EXPECT_EQ(program.density.log2(), 0u) << "the account is used up";
}

TEST(SamplingDensityTest, WhileStacksAreNewNothingIsSpent) {
  Program program;
  program.Run(3000, 4, /*nodes_per_point=*/10);
  EXPECT_EQ(program.density.log2(), 0u);
  EXPECT_GE(program.density.account(), SamplingDensity::kFirstAccount - 100);
  program.Run(3000, 0.5);
  EXPECT_EQ(program.density.log2(), kMost) << "the work that follows is sampled densely";
}

TEST(SamplingDensityTest, AQuietProgramBecomesDenseAgain) {
  Program program;
  program.Run(50'000, 20);
  EXPECT_EQ(program.density.log2(), 0u);
  program.Run(200, 20);
  EXPECT_EQ(program.density.log2(), kMost);
}

TEST(SamplingDensityTest, WavesChangeTheDensityEverLessOften) {
  Program program;
  program.Run(50'000, 20);
  for (int wave = 0; wave < 100; ++wave) program.Run(200, 2), program.Run(50'000, 2);
  const int early = program.changes;
  for (int wave = 0; wave < 100; ++wave) program.Run(200, 2), program.Run(50'000, 2);
  EXPECT_GT(early, 0);
  EXPECT_LT(program.changes - early, early / 2 + 4);
}

TEST(SamplingDensityTest, AfterAnAllocatingStartTheFirstStepIsSampledDenselyAtOnce) {
  Program program;
  for (int wave = 0; wave < 40; ++wave) program.Run(200, 0.5), program.Run(50'000, 0.5);
  EXPECT_EQ(program.density.log2(), 0u);
  program.density.BeginAnew();
  program.Run(1000, 0.01);
  EXPECT_EQ(program.density.log2(), kMost);
  EXPECT_GE(program.density.account(), SamplingDensity::kFirstAccount - 100);
  program.Run(1000, 5);
  EXPECT_EQ(program.density.log2(), kMost) << "the pace of the start is forgotten";
}

TEST(SamplingDensityTest, AfterStopTheSampleIsAsCoarseAsAsked) {
  Program program;
  program.density.Stop();
  EXPECT_FALSE(program.density.is_on());
  EXPECT_EQ(program.density.log2(), 0u);
}

TEST(SamplingDensityTest, ClocksThatGoBackAreNoTime) {
  SamplingDensity density;
  density.Start(kMost, 10 * kSecond);
  for (int i = 0; i < 1000; ++i) density.OnPoint(9 * kSecond, kSecond, 0);
  EXPECT_LE(density.log2(), kMost);
}

}  // namespace
}  // namespace plateau

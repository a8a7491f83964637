#include "analyzer/series/breakdown.h"

#include <gtest/gtest.h>

namespace plateau::series {
namespace {

double BytesOf(const Breakdown& breakdown, HeldAs category) {
  return breakdown.Shares()[static_cast<size_t>(category)].bytes;
}

double SumOf(const Breakdown& breakdown) {
  double sum = 0;
  for (const BreakdownShare& share : breakdown.Shares()) sum += share.bytes;
  return sum;
}

void AddTensor(Breakdown* breakdown, BirthPhase birth, uint64_t bytes) {
  breakdown->Add(birth, true, bytes, static_cast<double>(bytes), 1);
}

TEST(BreakdownTest, ModelWithAdam) {
  Breakdown breakdown;
  for (uint64_t size : {10001u, 20002u}) {
    AddTensor(&breakdown, BirthPhase::kStartup, size);
    AddTensor(&breakdown, BirthPhase::kBackward, size);
    AddTensor(&breakdown, BirthPhase::kOptimizer, size);
    AddTensor(&breakdown, BirthPhase::kOptimizer, size);
  }
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kParameters), 30003);
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kGradients), 30003);
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kOptimizerState), 60006);
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kOther), 0);
}

TEST(BreakdownTest, FrozenWeightsAndDataHaveNoGradient) {
  Breakdown breakdown;
  AddTensor(&breakdown, BirthPhase::kStartup, 10001);
  AddTensor(&breakdown, BirthPhase::kStartup, 50005);
  AddTensor(&breakdown, BirthPhase::kBackward, 10001);
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kParameters), 10001);
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kFrozenOrData), 50005);
}

TEST(BreakdownTest, DataOfAParametersSizeIsNotCountedAsOne) {
  Breakdown breakdown;
  for (int i = 0; i < 5; ++i) AddTensor(&breakdown, BirthPhase::kStartup, 10001);
  AddTensor(&breakdown, BirthPhase::kBackward, 10001);
  AddTensor(&breakdown, BirthPhase::kBackward, 10001);
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kParameters), 20002);
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kFrozenOrData), 30003);
}

TEST(BreakdownTest, SampledTensorsAreNotMatchedBySize) {
  Breakdown breakdown;
  breakdown.Add(BirthPhase::kStartup, true, 0, 500000, 50);
  breakdown.Add(BirthPhase::kBackward, true, 0, 450000, 44);
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kParameters), 500000);
}

TEST(BreakdownTest, WhatIsNoTensorIsOther) {
  Breakdown breakdown;
  breakdown.Add(BirthPhase::kForward, false, 10001, 10001, 1);
  AddTensor(&breakdown, BirthPhase::kForward, 20002);
  AddTensor(&breakdown, BirthPhase::kFetch, 30003);
  AddTensor(&breakdown, BirthPhase::kEvaluation, 40004);
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kOther), 10001);
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kActivations), 20002);
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kBatchData), 30003);
  EXPECT_EQ(BytesOf(breakdown, HeldAs::kEvaluation), 40004);
}

TEST(BreakdownTest, SharesAddUpToEverything) {
  Breakdown breakdown;
  double sum = 0;
  for (int i = 0; i < 200; ++i) {
    const auto phase = static_cast<BirthPhase>(i % static_cast<int>(kBirthPhases));
    const uint64_t size = 1000 + static_cast<uint64_t>(i % 7);
    breakdown.Add(phase, i % 3 != 0, i % 5 == 0 ? 0 : size, static_cast<double>(size), 1);
    sum += static_cast<double>(size);
  }
  EXPECT_DOUBLE_EQ(SumOf(breakdown), sum);
  double by_phase = 0;
  for (double bytes : breakdown.bytes_by_phase()) by_phase += bytes;
  EXPECT_DOUBLE_EQ(by_phase, sum);
}

}  // namespace
}  // namespace plateau::series

// The statistics that default mode rests on: gaps are exponential, estimates unbiased, intervals as wide as
// they say.
//
// Seeds are fixed, so a test passes always or never; limits are those of a test at 3 sigma or stricter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "preload/sampler/sampler.h"

namespace plateau {
namespace {

constexpr uint64_t kPeriod = 512 * 1024;
constexpr uint64_t kExactFrom = 16 * 1024;

double Probability(uint64_t bytes, uint64_t period) {
  return -std::expm1(-static_cast<double>(bytes) / static_cast<double>(period));
}

// What a thread does with each request, as in the hooks.
class Countdown {
 public:
  Countdown(uint64_t seed, uint64_t period) : period_(period) {
    random_.Seed(seed);
    left_ = static_cast<int64_t>(random_.Gap(period_));
  }

  bool Samples(uint64_t bytes) {
    const int64_t left = left_ - static_cast<int64_t>(bytes);
    if (left >= 0) {
      left_ = left;
      return false;
    }
    left_ = static_cast<int64_t>(random_.Gap(period_));
    return true;
  }

  void SetPeriod(uint64_t period) {
    period_ = period;
    left_ = static_cast<int64_t>(random_.Gap(period_));  // the process has no memory: start again
  }

 private:
  GapRandom random_;
  uint64_t period_;
  int64_t left_;
};

TEST(SamplingStatisticsTest, GapsAreExponential) {
  constexpr int kBins = 100;
  constexpr int kDraws = 1'000'000;
  GapRandom random;
  random.Seed(2);
  std::vector<double> counts(kBins);
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto gap = static_cast<double>(random.Gap(kPeriod));
    sum += gap;
    const int bin = static_cast<int>(-std::expm1(-gap / kPeriod) * kBins);
    ++counts[static_cast<size_t>(std::clamp(bin, 0, kBins - 1))];
  }
  double chi_square = 0;
  for (const double count : counts) {
    chi_square += (count - kDraws / kBins) * (count - kDraws / kBins) / (kDraws / kBins);
  }
  EXPECT_LT(chi_square, 148.2);  // 99 degrees of freedom: 0.1 % are beyond
  EXPECT_GT(chi_square, 61.1);   // nor too even
  EXPECT_NEAR(sum / kDraws, kPeriod, 3.0 * kPeriod / std::sqrt(kDraws));
}

TEST(SamplingStatisticsTest, AGapOfAnOlderRateIsThinnedToTheNewOne) {
  // A thread that draws its gaps too often, for the mean that was, must record as many as one that does not.
  constexpr uint64_t kOld = 1000, kNew = 4000, kBytes = 400'000'000;
  GapRandom random;
  random.Seed(5);
  uint64_t samples = 0;
  for (uint64_t at = random.Gap(kOld); at < kBytes; at += random.Gap(kOld) + 1)
    samples += random.Keeps(kOld, kNew);
  const double expected = static_cast<double>(kBytes) / kNew;
  EXPECT_NEAR(static_cast<double>(samples), expected, 4 * std::sqrt(expected));
  EXPECT_TRUE(random.Keeps(kNew, kOld));
  EXPECT_TRUE(random.Keeps(kNew, kNew));
}

TEST(SamplingStatisticsTest, ConsecutiveGapsAreIndependent) {
  constexpr int kDraws = 1'000'000;
  GapRandom random;
  random.Seed(3);
  double previous = static_cast<double>(random.Gap(kPeriod)) / kPeriod - 1;
  double correlation = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double next = static_cast<double>(random.Gap(kPeriod)) / kPeriod - 1;
    correlation += previous * next;
    previous = next;
  }
  EXPECT_LT(std::abs(correlation / kDraws), 3 / std::sqrt(kDraws));
}

TEST(SamplingStatisticsTest, NearbySeedsGiveUnrelatedGaps) {
  std::set<uint64_t> first;
  double correlation = 0;
  constexpr int kSeeds = 10'000;
  double previous = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    GapRandom random;
    random.Seed(seed);
    const uint64_t gap = random.Gap(uint64_t{1} << 40);
    first.insert(gap);
    const double centred = static_cast<double>(gap) * 0x1p-40 - 1;
    correlation += previous * centred;
    previous = centred;
  }
  EXPECT_EQ(first.size(), static_cast<size_t>(kSeeds));
  EXPECT_LT(std::abs(correlation / kSeeds), 3 / std::sqrt(kSeeds));
}

struct SizeClass {
  uint64_t bytes;
  uint64_t requests = 0;
  uint64_t samples = 0;
};

// 10^7 requests of many sizes, mixed: per size, the Horvitz-Thompson estimate against what was really
// requested.
TEST(SamplingStatisticsTest, EstimatesAreWithinThreeSigmaForEverySize) {
  std::vector<SizeClass> classes;
  for (uint64_t bytes : {1,   7,    16,   24,   32,   48,   64,   100,    128,    256,   500,
                         512, 1000, 1024, 2048, 3000, 4096, 8192, 12'000, 16'000, 16'383}) {
    classes.push_back({bytes});
  }
  std::mt19937_64 random(4);
  Countdown countdown(5, kPeriod);
  for (int i = 0; i < 10'000'000; ++i) {
    SizeClass& c = classes[random() % classes.size()];
    ASSERT_LT(c.bytes, kExactFrom);
    ++c.requests;
    if (countdown.Samples(c.bytes)) ++c.samples;
  }
  double chi_square = 0;
  double total_estimate = 0;
  double total_variance = 0;
  double total = 0;
  for (const SizeClass& c : classes) {
    const double p = Probability(c.bytes, kPeriod);
    const double estimate = static_cast<double>(c.samples) / p;
    const double sigma = std::sqrt(static_cast<double>(c.requests) * (1 - p) / p);
    const double z = (estimate - static_cast<double>(c.requests)) / sigma;
    EXPECT_LT(std::abs(z), 3) << c.bytes << " bytes: " << c.requests << " requests, estimated " << estimate;
    chi_square += z * z;
    const auto bytes = static_cast<double>(c.bytes);
    total += bytes * static_cast<double>(c.requests);
    total_estimate += bytes * estimate;
    total_variance += bytes * bytes * static_cast<double>(c.requests) * (1 - p) / p;
  }
  EXPECT_LT(chi_square, 46.8);  // 21 degrees of freedom: 0.1 % are beyond
  EXPECT_LT(std::abs(total_estimate - total), 3 * std::sqrt(total_variance));
}

// The interval sum s^2 (1-p)/p^2 over the samples alone, as the reports compute it, covers the truth as often
// as it says.
TEST(SamplingStatisticsTest, IntervalsCoverAsStated) {
  constexpr int kRuns = 2000;
  constexpr uint64_t kShortPeriod = 8192;
  std::mt19937_64 random(6);
  std::lognormal_distribution<double> sizes(5, 1);
  int covered_95 = 0;
  int covered_68 = 0;
  for (int run = 0; run < kRuns; ++run) {
    Countdown countdown(random(), kShortPeriod);
    double truth = 0;
    double estimate = 0;
    double variance = 0;
    for (int i = 0; i < 10'000; ++i) {
      const auto bytes = static_cast<uint64_t>(std::clamp(sizes(random), 1.0, 16'000.0));
      truth += static_cast<double>(bytes);
      if (!countdown.Samples(bytes)) continue;
      const double p = Probability(bytes, kShortPeriod);
      const double weighted = static_cast<double>(bytes) / p;
      estimate += weighted;
      variance += weighted * weighted * (1 - p);
    }
    const double error = std::abs(estimate - truth);
    if (error < 1.96 * std::sqrt(variance)) ++covered_95;
    if (error < std::sqrt(variance)) ++covered_68;
  }
  EXPECT_NEAR(covered_95 / static_cast<double>(kRuns), 0.95, 0.015);
  EXPECT_NEAR(covered_68 / static_cast<double>(kRuns), 0.683, 0.032);
}

TEST(SamplingStatisticsTest, SizesNearThePeriodAndAboveAreRight) {
  constexpr uint64_t kShortPeriod = 1000;
  for (const uint64_t bytes : {1, 2, 999, 1000, 1001, 4000, 16'000}) {
    Countdown countdown(7, kShortPeriod);
    constexpr int kRequests = 1'000'000;
    int samples = 0;
    for (int i = 0; i < kRequests; ++i) samples += countdown.Samples(bytes) ? 1 : 0;
    const double p = Probability(bytes, kShortPeriod);
    EXPECT_NEAR(samples, kRequests * p, 3 * std::sqrt(kRequests * p * (1 - p)) + 1) << bytes;
  }
}

TEST(SamplingStatisticsTest, ChangeOfThePeriodLeavesEstimatesUnbiased) {
  std::mt19937_64 random(9);
  Countdown countdown(10, 4096);
  double truth = 0;
  double estimate = 0;
  double variance = 0;
  uint64_t period = 4096;
  for (int i = 0; i < 2'000'000; ++i) {
    if (i % 1000 == 0) {
      period = uint64_t{4096} << (random() % 5);
      countdown.SetPeriod(period);
    }
    const uint64_t bytes = 1 + random() % 700;
    const double p = Probability(bytes, period);
    truth += static_cast<double>(bytes);
    variance += static_cast<double>(bytes * bytes) * (1 - p) / p;
    if (countdown.Samples(bytes)) estimate += static_cast<double>(bytes) / p;
  }
  EXPECT_LT(std::abs(estimate - truth), 3 * std::sqrt(variance));
}

}  // namespace
}  // namespace plateau

#include "preload/sampler/sampler.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace plateau {
namespace {

TEST(GapRandom, LogarithmAgreesWithTheMathLibrary) {
  GapRandom random;
  random.Seed(1);
  for (int i = 0; i < 100000; ++i) {
    const double x = (static_cast<double>(random.Next() >> 11) + 1) * 0x1p-53;
    EXPECT_NEAR(GapRandom::Log(x), std::log(x), 1e-8);
  }
  EXPECT_EQ(GapRandom::Log(1.0), 0.0);
  EXPECT_NEAR(GapRandom::Log(0x1p-53), std::log(0x1p-53), 1e-8);
}

TEST(GapRandom, GapsAreExponential) {
  constexpr uint64_t kMean = 512 * 1024;
  constexpr int kDraws = 1'000'000;
  constexpr int kBins = 20;
  GapRandom random;
  random.Seed(42);
  std::vector<int> bins(kBins);
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t gap = random.Gap(kMean);
    sum += static_cast<double>(gap);
    // Equal probability per bin.
    const double u = -std::expm1(-static_cast<double>(gap) / kMean);
    ++bins[std::min(kBins - 1, static_cast<int>(u * kBins))];
  }
  EXPECT_NEAR(sum / kDraws, kMean, 4.0 * kMean / std::sqrt(kDraws));
  double chi_square = 0;
  for (int count : bins) chi_square += std::pow(count - kDraws / kBins, 2) / (kDraws / kBins);
  EXPECT_LT(chi_square, 43.8);  // 99.9 % of 19 degrees of freedom
}

// A thread's countdown over many requests of one size, as hooks.h does it.
TEST(GapRandom, EstimatesAreUnbiasedForEverySize) {
  constexpr uint64_t kMean = 512 * 1024;
  GapRandom random;
  random.Seed(7);
  for (const uint64_t bytes : {1u, 8u, 24u, 100u, 1000u, 4096u, 10000u, 16383u}) {
    const int requests = static_cast<int>(std::min<uint64_t>(10'000'000, 2'000'000'000'000 / bytes / 1000));
    int64_t countdown = static_cast<int64_t>(random.Gap(kMean));
    int sampled = 0;
    for (int i = 0; i < requests; ++i) {
      countdown -= static_cast<int64_t>(bytes);
      if (countdown < 0) {
        ++sampled;
        countdown = static_cast<int64_t>(random.Gap(kMean));
      }
    }
    const double p = -std::expm1(-static_cast<double>(bytes) / kMean);
    const double sigma = std::sqrt(requests * p * (1 - p));
    EXPECT_NEAR(sampled, requests * p, 3.5 * sigma) << bytes;
  }
}

TEST(GapRandom, NothingIsSampledForNoBytes) {
  GapRandom random;
  random.Seed(9);
  int64_t countdown = static_cast<int64_t>(random.Gap(1));
  EXPECT_GE(countdown, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_GE(countdown -= 0, 0);
}

TEST(GapRandom, WeightIsTheInverseOfTheProbability) {
  for (const uint64_t mean : {uint64_t{1024}, uint64_t{512} << 10, uint64_t{512} << 34}) {
    for (uint64_t bytes = 1; bytes < 64 * mean && bytes < uint64_t{1} << 40; bytes = bytes * 3 + 1) {
      const double expected = -1 / std::expm1(-static_cast<double>(bytes) / static_cast<double>(mean));
      EXPECT_NEAR(GapRandom::Weight(bytes, mean) / expected, 1, 1e-9) << bytes << " of " << mean;
    }
  }
}

}  // namespace
}  // namespace plateau

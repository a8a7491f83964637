// The statistics, against values that others have published: the certified results of NIST's Statistical Reference
// Datasets (Norris, Pontius, Longley) and tables of Student's t.
#include "analyzer/verdict/method/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "analyzer/verdict/method/least_squares.h"
#include "analyzer/verdict/method/rate_models.h"

namespace plateau::verdict {
namespace {

// NIST StRD, Norris: calibration of ozone monitors, 36 observations, lower level of difficulty.
const std::vector<double> kNorrisX = {0.2,   337.4, 118.2, 884.6, 10.1,  226.5, 666.3, 996.3, 448.6,
                                      777.0, 558.2, 0.4,   0.6,   775.5, 666.9, 338.0, 447.5, 11.6,
                                      556.0, 228.1, 995.8, 887.6, 120.2, 0.3,   0.3,   556.8, 339.1,
                                      887.2, 999.0, 779.0, 11.1,  118.3, 229.2, 669.1, 448.9, 0.5};
const std::vector<double> kNorrisY = {0.1,   338.8, 118.1, 888.0, 9.2,   228.1, 668.5, 998.5, 449.1,
                                      778.9, 559.2, 0.3,   0.1,   778.1, 668.8, 339.3, 448.9, 10.8,
                                      557.7, 228.3, 998.0, 888.8, 119.6, 0.3,   0.6,   557.6, 339.3,
                                      888.0, 998.5, 778.9, 10.2,  117.6, 228.9, 668.4, 449.2, 0.2};

TEST(LeastSquares, NorrisIsFittedAsCertified) {
  const std::vector<double> ones(kNorrisX.size(), 1);
  const LinearFit fit = FitColumns({ones, kNorrisX}, kNorrisY);
  EXPECT_NEAR(fit.b[0], -0.262323073774029, 1e-10);
  EXPECT_NEAR(fit.b[1], 1.00211681802045, 1e-12);
  EXPECT_NEAR(fit.rss, 26.6173985294224, 1e-9);
}

TEST(Slopes, NorrisHasTheCertifiedSlopeAndError) {
  const Slope slope = PlainSlope(kNorrisX, kNorrisY);
  EXPECT_NEAR(slope.value, 1.00211681802045, 1e-12);
  EXPECT_NEAR(slope.standard_error, 0.429796848199937e-03, 1e-14);
  // The robust error is never the smaller one by much, and its interval has the slope in it.
  const Slope robust = RobustSlope(kNorrisX, kNorrisY);
  EXPECT_DOUBLE_EQ(robust.value, slope.value);
  EXPECT_GE(robust.standard_error, 0.99 * slope.standard_error);
  EXPECT_LT(robust.low, robust.value);
  EXPECT_GT(robust.high, robust.value);
}

// NIST StRD, Pontius: calibration of load cells, 40 observations, quadratic.
TEST(LeastSquares, PontiusIsFittedAsCertified) {
  std::vector<double> x,
      y = {.11019,  .21956,  .32949,  .43899,  .54803,  .65694,  .76562,  .87487,  .98292,  1.09146,
           1.20001, 1.30822, 1.41599, 1.52399, 1.63194, 1.73947, 1.84646, 1.95392, 2.06128, 2.16844,
           .11052,  .22018,  .32939,  .43886,  .54798,  .65739,  .76596,  .87474,  .98300,  1.09150,
           1.20004, 1.30818, 1.41613, 1.52408, 1.63159, 1.73965, 1.84696, 1.95445, 2.06177, 2.16829};
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 1; i <= 20; ++i) x.push_back(150000.0 * i);
  }
  std::vector<double> ones(x.size(), 1), squares;
  for (double v : x) squares.push_back(v * v);
  const LinearFit fit = FitColumns({ones, x, squares}, y);
  EXPECT_NEAR(fit.b[0], 0.673565789473684e-03, 1e-9);
  EXPECT_NEAR(fit.b[1], 0.732059160401003e-06, 1e-14);
  EXPECT_NEAR(fit.b[2], -0.316081871345029e-14, 1e-21);
  EXPECT_NEAR(fit.rss, 0.155761768796992e-05, 1e-12);
}

// NIST StRD, Longley: the columns are nearly dependent. Ours takes three of them; with the year alone beside the
// constant, total employment rises by 716.511764705882 a year, as the textbook sums say.
TEST(LeastSquares, LongleyByYear) {
  const std::vector<double> employed = {60323, 61122, 60171, 61187, 63221, 63639, 64989, 63761,
                                        66019, 67857, 68169, 66513, 68655, 69564, 69331, 70551};
  std::vector<double> year, ones(employed.size(), 1);
  for (int i = 0; i < 16; ++i) year.push_back(1947 + i);
  const LinearFit fit = FitColumns({ones, year}, employed);
  double sxy = 0, sxx = 0;  // by hand, about the means
  for (size_t i = 0; i < year.size(); ++i) {
    sxy += (year[i] - 1954.5) * (employed[i] - 65317.0);
    sxx += (year[i] - 1954.5) * (year[i] - 1954.5);
  }
  EXPECT_DOUBLE_EQ(sxx, 340);
  EXPECT_NEAR(fit.b[1], sxy / sxx, 1e-7);
  EXPECT_NEAR(fit.b[1], 716.511764705882, 1e-6);
}

TEST(LeastSquares, DependentColumnsGetTheSmallestSolution) {
  const std::vector<double> one(10, 1), two(10, 2), y(10, 10);
  const LinearFit fit = FitColumns({one, two}, y);
  EXPECT_NEAR(fit.b[0], 2, 1e-12);  // of all b0 + 2 b1 = 10 the one with the smallest norm
  EXPECT_NEAR(fit.b[1], 4, 1e-12);
  EXPECT_NEAR(fit.rss, 0, 1e-18);
}

// Two-sided 95 %, degrees of freedom n - 1. Between the rows of a short table the larger value is taken; for many
// values 2.0 stands for 1.96 to 2.06.
TEST(Quantiles, StudentsTIsThatOfTheTables) {
  const std::array<std::pair<int, double>, 9> exact = {{{2, 12.706},
                                                        {3, 4.303},
                                                        {4, 3.182},
                                                        {5, 2.776},
                                                        {6, 2.571},
                                                        {7, 2.447},
                                                        {8, 2.365},
                                                        {9, 2.306},
                                                        {10, 2.262}}};
  for (const auto& [n, t] : exact) EXPECT_NEAR(TQuantile(n), t, 0.01) << n;
  const std::array<std::pair<int, double>, 5> near = {
      {{12, 2.201}, {15, 2.145}, {20, 2.093}, {30, 2.045}, {1000, 1.962}}};
  for (const auto& [n, t] : near) EXPECT_NEAR(TQuantile(n) / t, 1, 0.03) << n;
}

TEST(Quantiles, MedianOfEvenAndOdd) {
  EXPECT_DOUBLE_EQ(Median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(Median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_TRUE(std::isnan(Median({})));
}

// A generator that is the same everywhere: numbers of a linear congruence, as sums of twelve nearly normal.
class Noise {
 public:
  double Next() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
      sum += static_cast<double>(state_ >> 11) * 0x1p-53;
    }
    return sum;
  }

 private:
  uint64_t state_ = 42;
};

// The interval of a mean must cover the truth in 95 of 100 cases, with independent and with correlated noise.
TEST(BatchIntervals, CoverTheTruthAsOftenAsTheySay) {
  Noise noise;
  for (const double rho : {0.0, 0.6}) {
    int covered = 0;
    for (int i = 0; i < 2000; ++i) {
      std::vector<double> x(240);
      double e = 0;
      for (double& v : x) v = 10 + (e = rho * e + noise.Next());
      const MeanInterval interval = BatchInterval(x, 12);
      covered += interval.low <= 10 && 10 <= interval.high;
    }
    EXPECT_GE(covered, 1840) << rho;  // 92 %: twelve batches of twenty are correlated a little
    EXPECT_LE(covered, 1960) << rho;
  }
}

TEST(BatchIntervals, SamplingVarianceIsALowerBound) {
  const std::vector<double> x(24, 5);
  const MeanInterval exact = BatchInterval(x, 12);
  EXPECT_DOUBLE_EQ(exact.low, 5);
  const MeanInterval sampled = BatchInterval(x, 12, 1);
  EXPECT_NEAR(sampled.high - sampled.mean, TQuantile(8), 1e-12);  // 24 values make eight batches
}

TEST(Slopes, RobustIntervalsCoverTheTruthUnderCorrelation) {
  Noise noise;
  int covered = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> t(100), y(100);
    double e = 0;
    for (size_t k = 0; k < t.size(); ++k) {
      t[k] = static_cast<double>(k);
      y[k] = 3 * t[k] + (e = 0.6 * e + noise.Next());
    }
    const Slope slope = RobustSlope(t, y);
    covered += slope.low <= 3 && 3 <= slope.high;
  }
  EXPECT_GE(covered, 920);
}

// Laplace's test: the statistic is standard normal for arrivals that are spread evenly.
TEST(Trends, LaplaceIsZeroInTheMiddleAndNegativeForEarlyArrivals) {
  std::vector<size_t> even, early;
  for (size_t i = 0; i < 50; ++i) {
    even.push_back(2 * i + (i % 2));
    early.push_back(i);
  }
  EXPECT_NEAR(LaplaceTrend(even, 100), 0, 0.1);
  // Mean arrival 25 of 100, fifty of them: (25 - 50) / (100 sqrt(1/600)) = -6.12.
  EXPECT_NEAR(LaplaceTrend(early, 100), -6.1237, 0.001);
}

TEST(RateModels, BicPrefersTheShapeThatMadeTheData) {
  std::vector<double> centre, constant, box, decay;
  Noise noise;
  for (int i = 0; i < 40; ++i) {
    centre.push_back(i + 0.5);
    constant.push_back(1000 + 50 * noise.Next());
    box.push_back(i < 20 ? 1000 + 50 * noise.Next() : 0);
    decay.push_back(1000 * std::exp(-i / 8.0) * (1 + 0.05 * noise.Next()));
  }
  EXPECT_EQ(FitRateModels(constant, centre, 30).front().shape, RateShape::kConstant);
  EXPECT_EQ(FitRateModels(box, centre, 15).front().shape, RateShape::kBox);
  const RateFit best = FitRateModels(decay, centre, 5).front();
  EXPECT_EQ(best.shape, RateShape::kExponential);
  EXPECT_NEAR(best.tau, 8, 1);
}

}  // namespace
}  // namespace plateau::verdict

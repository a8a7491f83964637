#include "analyzer/replay/rate_table.h"

#include <cmath>

#include "gtest/gtest.h"

namespace plateau::replay {
namespace {

using trace::Mode;

trace::FileHeader Header(Mode mode, uint64_t exact_from, uint64_t sample, uint64_t python_sample) {
  trace::FileHeader header{};
  header.mode = static_cast<uint8_t>(mode);
  header.exact_from_bytes = exact_from;
  header.sample_bytes = sample;
  header.python_sample_bytes = python_sample;
  return header;
}

double WeightAt(uint64_t bytes, uint64_t sample) {
  return 1 / -std::expm1(-static_cast<double>(bytes) / static_cast<double>(sample));
}

TEST(RateTableTest, ExactModeSamplesPythonsObjectsAlone) {
  const RateTable rates(Header(Mode::kExact, 0, 0, 1000));
  EXPECT_EQ(rates.current(), kNotSampled);
  EXPECT_FALSE(rates.has_sampling());
  EXPECT_EQ(rates.Weight(rates.current(), 100), 1);
  EXPECT_NEAR(rates.Weight(rates.python(), 100), WeightAt(100, 1000), 1e-9);
}

TEST(RateTableTest, PythonsObjectsAreExactWhileTheOthersAreSampled) {
  const RateTable rates(Header(Mode::kDefault, 16384, 1000, 0));
  EXPECT_TRUE(rates.has_sampling());
  EXPECT_NEAR(rates.Weight(rates.current(), 100), WeightAt(100, 1000), 1e-9);
  EXPECT_EQ(rates.Weight(rates.current(), 16384), 1);
  EXPECT_EQ(rates.Weight(rates.python(), 100), 1);
}

TEST(RateTableTest, ThresholdOfLargeRequestsIsNotPythons) {
  const RateTable rates(Header(Mode::kDefault, 64, 1000, 1000));
  EXPECT_EQ(rates.Weight(rates.current(), 100), 1);
  EXPECT_NEAR(rates.Weight(rates.python(), 100), WeightAt(100, 1000), 1e-9);
}

TEST(RateTableTest, ARateThatComesBackKeepsItsNumber) {
  RateTable rates(Header(Mode::kDefault, 16384, 512, 512));
  const uint8_t malloc_rate = rates.current(), python_rate = rates.python();
  for (int i = 0; i < 10'000; ++i) {
    rates.Add({Mode::kDefault, 16384, 64});
    EXPECT_NEAR(rates.Weight(rates.current(), 10), WeightAt(10, 64), 1e-9);
    EXPECT_NEAR(rates.Weight(rates.python(), 10), WeightAt(10, 64), 1e-9);
    rates.Add({Mode::kDefault, 16384, 512});
  }
  EXPECT_EQ(rates.current(), malloc_rate);
  EXPECT_EQ(rates.python(), python_rate);
}

TEST(RateTableTest, FirstSampledRateHoldsForPythonToo) {
  RateTable rates(Header(Mode::kExact, 0, 0, 0));
  const uint8_t before = rates.python();
  rates.Add({Mode::kExact, 0, 5000});
  EXPECT_EQ(rates.python(), kNotSampled) << "still exact";
  rates.Add({Mode::kDefault, 16384, 2000});
  EXPECT_TRUE(rates.has_sampling());
  EXPECT_EQ(rates.Weight(before, 100), 1);
  EXPECT_NEAR(rates.Weight(rates.python(), 100), WeightAt(100, 2000), 1e-9);
  const uint8_t middle = rates.python();
  rates.Add({Mode::kFolded, 65536, 8000});
  EXPECT_NEAR(rates.Weight(rates.python(), 100), WeightAt(100, 8000), 1e-9);
  EXPECT_NEAR(rates.Weight(middle, 100), WeightAt(100, 2000), 1e-9);
}

TEST(RateTableTest, MoreRatesThanNumbersShareTheLast) {
  RateTable rates(Header(Mode::kDefault, 16384, 1000, 1000));
  for (uint64_t i = 1; i <= 1000; ++i) rates.Add({Mode::kDefault, 16384, 1000 * i});
  EXPECT_LT(rates.current(), kNotSampled);
  EXPECT_NEAR(rates.Weight(rates.current(), 100), WeightAt(100, 1000000), 1e-6);
  EXPECT_NEAR(rates.Weight(rates.python(), 100), WeightAt(100, 1000000), 1e-6);
  EXPECT_EQ(rates.Weight(rates.current(), 16384), 1) << "not Python's, which has no such threshold";
}

}  // namespace
}  // namespace plateau::replay

// Growth whose steps keep less and less, as (k + offset)^-power: what several caches with different numbers of entries
// add up to while they fill. It ends, or gets ever slower, and is no leak.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "analyzer/verdict/method/site_classifier.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::verdict {
namespace {

constexpr double kObjects = 4;

series::SiteSeries Slowing(int64_t steps, double power, double offset, double noise) {
  std::mt19937 engine(3);
  std::normal_distribution<> factor(1, noise > 0 ? noise : 1);
  series::SiteSeries site(static_cast<size_t>(steps));
  for (int64_t step = 1; step <= steps; ++step) {
    const double at = static_cast<double>(step);
    const double spread = noise > 0 ? std::max(0.05, factor(engine)) : 1;
    const double bytes = 8e6 * std::pow((1 + offset) / (at + offset), power) * spread;
    site.alloc_bytes[step] = site.surv_bytes[step] = bytes;
    site.alloc_count[step] = site.surv_count[step] = kObjects;
  }
  return site;
}

TEST(SlowingGrowth, WhatFallsAsAPowerOfTheStepIsNoLeak) {
  for (const int64_t steps : {160, 400}) {
    for (const double epoch : {40.0, 25.0}) {
      for (const double power : {1.0, 1.5, 2.0, 3.0}) {
        for (const double offset : {5.0, 20.0, 40.0, 80.0}) {
          for (const double noise : {0.0, 0.3}) {
            series::RunContext run;
            run.steps = steps;
            run.epoch_steps = epoch;
            run.reference_bytes = 4e9;
            const Verdict verdict = ClassifySite(Slowing(steps, power, offset, noise), run);
            EXPECT_FALSE(GrowsWithoutEnd(verdict.kind))
                << VerdictName(verdict.kind) << ": " << steps << " steps, power " << power << ", offset "
                << offset << ", noise " << noise << ": " << verdict.sentence;
          }
        }
      }
    }
  }
}

// The same with a leak that stays when the rest is over: that must be seen.
TEST(SlowingGrowth, ALeakBelowItIsFound) {
  series::SiteSeries site = Slowing(400, 2, 5, 0.1);
  for (int64_t step = 1; step <= 400; ++step) {
    site.alloc_bytes[step] += 1e6;
    site.surv_bytes[step] += 1e6;
  }
  series::RunContext run;
  run.steps = 400;
  run.epoch_steps = 40;
  run.reference_bytes = 4e9;
  const Verdict verdict = ClassifySite(site, run);
  EXPECT_TRUE(IsLeak(verdict.kind)) << VerdictName(verdict.kind) << ": " << verdict.sentence;
}

}  // namespace
}  // namespace plateau::verdict

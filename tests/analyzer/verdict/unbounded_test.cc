#include "analyzer/verdict/method/unbounded.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "analyzer/verdict/method/site_classifier.h"
#include "analyzer/verdict/method/statistics.h"

namespace plateau::verdict {
namespace {

constexpr double kEntry = 64 * 1024;

// Births per round of a cache of `entries` that is filled by random draws.
std::vector<double> CacheOf(int entries, int rounds, int draws_per_round, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<> draw(0, entries - 1);
  std::set<int> held;
  std::vector<double> births(rounds);
  for (double& born : births) {
    for (int i = 0; i < draws_per_round; ++i) born += held.insert(draw(engine)).second;
  }
  return births;
}

TEST(CacheFromHits, SizeOfACacheOfRandomDrawsIsFound) {
  for (const int entries : {300, 1500, 5000}) {
    const auto estimate = EstimateCacheFromHits(CacheOf(entries, 1000, 1, 7));
    ASSERT_TRUE(estimate.has_value()) << entries;
    ASSERT_TRUE(estimate->interval.has_value()) << entries;
    EXPECT_NEAR(estimate->entries, entries, 0.25 * entries);
    EXPECT_LE(estimate->interval->low, entries);
    EXPECT_GE(estimate->interval->high, entries);
  }
}

TEST(CacheFromHits, WithoutAHitOnlyALowerBoundIsKnown) {
  const std::vector<double> births(120, 1.0);
  const auto estimate = EstimateCacheFromHits(births);
  ASSERT_TRUE(estimate.has_value());
  EXPECT_FALSE(estimate->interval.has_value());
  EXPECT_DOUBLE_EQ(estimate->entries, 120 * 120 / 6.0);
}

TEST(CacheFromHits, ALeakThatSkipsRoundsIsNoCacheOfRandomDraws) {
  std::vector<double> births(300, 1.0);
  for (size_t i = 0; i < births.size(); i += 7) births[i] = 0;
  EXPECT_FALSE(EstimateCacheFromHits(births).has_value());
}

series::SiteSeries Keeping(const std::vector<double>& births) {
  series::SiteSeries site(births.size());
  for (size_t step = 1; step <= births.size(); ++step) {
    site.alloc_bytes[step] = site.surv_bytes[step] = births[step - 1] * kEntry;
    site.alloc_count[step] = site.surv_count[step] = births[step - 1];
  }
  return site;
}

series::RunContext RunOf(size_t steps) {
  series::RunContext run;
  run.steps = static_cast<int64_t>(steps);
  run.has_no_pass = true;
  run.reference_bytes = 100 << 20;
  return run;
}

TEST(UnboundedGrowth, GrowthToTheEndWithoutAPassIsCalledByItsName) {
  const Verdict verdict = ClassifySite(Keeping(std::vector<double>(200, 1)), RunOf(200));
  EXPECT_EQ(verdict.kind, VerdictKind::kUnboundedGrowth);
  EXPECT_DOUBLE_EQ(verdict.rate_bytes_per_step->value, kEntry);
  EXPECT_DOUBLE_EQ(*verdict.evidence.entries, 200);
}

// The first round imports a library at the same line.
TEST(UnboundedGrowth, WhatTheFirstRoundKeptOnceIsNoPartOfTheRate) {
  series::SiteSeries site = Keeping(std::vector<double>(200, 1));
  site.alloc_bytes[1] += 60 * kEntry;
  site.surv_bytes[1] += 60 * kEntry;
  const Verdict verdict = ClassifySite(site, RunOf(200));
  EXPECT_EQ(verdict.kind, VerdictKind::kUnboundedGrowth) << verdict.why;
  EXPECT_NEAR(verdict.rate_bytes_per_step->value, kEntry, 0.01 * kEntry);
}

// A fill that slows down keeps more in many of its first rounds.
TEST(UnboundedGrowth, RoundsThatKeepLessAndLessAreNoOneOff) {
  std::vector<double> births(200);
  for (size_t i = 0; i < births.size(); ++i) births[i] = 40.0 * std::exp(-static_cast<double>(i) / 60) + 1;
  EXPECT_NE(ClassifySite(Keeping(births), RunOf(200)).kind, VerdictKind::kUnboundedGrowth);
}

// Each step has a birth; an object dies when `capacity` others were born after it, in bursts of `burst`.
series::SiteSeries Evicting(int steps, int capacity, int burst) {
  series::SiteSeries site(static_cast<size_t>(steps));
  int dead = 0;
  for (int step = 1; step <= steps; ++step) {
    site.alloc_bytes[step] = kEntry;
    site.alloc_count[step] = 1;
    if (step - dead < capacity + burst) continue;
    for (; dead < step - capacity; ++dead) {
      site.free_bytes[step] += kEntry;
      site.free_count[step] += 1;
      const int age = series::AgeBucket(static_cast<uint64_t>(step - dead - 1));
      site.death_bytes[age] += kEntry;
      site.death_count[age] += 1;
    }
  }
  for (int birth = dead + 1; birth <= steps; ++birth)
    site.surv_bytes[birth] = kEntry, site.surv_count[birth] = 1;
  return site;
}

TEST(UnboundedGrowth, ALevelThatIsReachedIsNoGrowthWhateverItsObjectsDo) {
  for (const int capacity : {150, 220, 300}) {
    const Verdict verdict = ClassifySite(Evicting(500, capacity, 10), RunOf(500));
    EXPECT_FALSE(GrowsWithoutEnd(verdict.kind)) << capacity << ": " << VerdictName(verdict.kind);
  }
}

TEST(UnboundedGrowth, AFillThatEndedIsCompleteThoughFewObjectsThatDieLateMakeTheHorizonLong) {
  // 480 of 700 steps fill a cache; a temporary object of the same line lives for 200 steps now and then.
  std::vector<double> births(700, 0);
  std::fill(births.begin(), births.begin() + 480, 1.0);
  series::SiteSeries site = Keeping(births);
  for (int step = 1; step < 480; step += 20) {
    site.alloc_bytes[step] += kEntry;
    site.free_bytes[step + 200] += kEntry;
    site.death_bytes[series::AgeBucket(200)] += kEntry;
    site.death_count[series::AgeBucket(200)] += 1;
  }
  const Verdict verdict = ClassifySite(site, RunOf(700));
  EXPECT_EQ(verdict.kind, VerdictKind::kWarmupComplete) << verdict.why;
  EXPECT_NEAR(*verdict.by_step, 480, 10);
}

TEST(UnboundedGrowth, FewRoundsAreTooFew) {
  const Verdict verdict = ClassifySite(Keeping(std::vector<double>(39, 1)), RunOf(39));
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(verdict.reason, Reason::kTooShort);
  EXPECT_EQ(*verdict.needs_steps, 1);
}

TEST(UnboundedGrowth, ALateBeginIsNoLeakWithoutAPass) {
  std::vector<double> births(200, 1);
  std::fill(births.begin(), births.begin() + 80, 0);
  const Verdict verdict = ClassifySite(Keeping(births), RunOf(200));
  EXPECT_EQ(verdict.kind, VerdictKind::kUnboundedGrowth);
  EXPECT_NEAR(*verdict.onset_step, 81, 5);
}

// KiB that a string store of spaCy kept in each slice of its allocations, from samples of 128 KiB. The last slices
// happen to be lower, and a second level that begins with them fits best by a hair.
TEST(UnboundedGrowth, ALastLevelThatMayBeChanceDoesNotUndecideTheRest) {
  constexpr double kKilobytes[] = {
      0,    1114, 459, 852, 590,  590, 393, 852, 131, 262, 459, 262, 721, 328,  524,  721, 131,
      524,  655,  131, 262, 262,  524, 787, 393, 524, 262, 656, 524, 655, 524,  393,  656, 131,
      655,  787,  393, 393, 1180, 524, 262, 0,   524, 393, 393, 393, 262, 1573, 787,  787, 524,
      787,  262,  787, 393, 393,  786, 0,   0,   262, 262, 524, 787, 262, 393,  787,  0,   262,
      1049, 393,  655, 131, 524,  262, 262, 262, 393, 262, 524, 393, 262, 0,    1311, 0,   262,
      1049, 262,  655, 524, 262,  787, 393, 0,   131, 393, 262, 262, 0,   262,  0};
  constexpr double kSample = 128 * 1024;
  series::SiteSeries site(std::size(kKilobytes));
  site.surv_variance.assign(std::size(kKilobytes) + 1, 0);
  for (size_t step = 1; step <= std::size(kKilobytes); ++step) {
    const double bytes = 1000 * kKilobytes[step - 1];
    site.alloc_bytes[step] = site.surv_bytes[step] = bytes;
    site.alloc_count[step] = site.surv_count[step] = std::round(bytes / kSample);
    site.surv_variance[step] = bytes * kSample;
  }
  const Verdict verdict = ClassifySite(site, RunOf(std::size(kKilobytes)));
  EXPECT_EQ(verdict.kind, VerdictKind::kUnboundedGrowth) << verdict.why;
}

TEST(UnboundedGrowth, ACacheThatIsNearlyFullIsNotCalled) {
  const Verdict verdict = ClassifySite(Keeping(CacheOf(200, 300, 1, 3)), RunOf(300));
  EXPECT_FALSE(GrowsWithoutEnd(verdict.kind)) << VerdictName(verdict.kind);
}

// One block every 25 rounds, `count` times.
std::vector<double> Stairs(int count) {
  std::vector<double> births(static_cast<size_t>(count) * 25, 0);
  for (size_t round = 24; round < births.size(); round += 25) births[round] = 3;
  return births;
}

TEST(UnboundedGrowth, JumpsAtEqualDistancesNeedADozenWhereEachIsSeen) {
  series::SiteSeries site = Keeping(Stairs(14));
  for (double& count : site.surv_count) count /= 3;  // one block a jump
  for (double& count : site.alloc_count) count /= 3;
  EXPECT_EQ(ClassifySite(site, RunOf(350)).kind, VerdictKind::kUnboundedGrowth);
  site.surv_variance.assign(site.surv_bytes.size(), 1.0);  // blocks that stand for others
  EXPECT_EQ(ClassifySite(site, RunOf(350)).kind, VerdictKind::kInconclusive);
  site = Keeping(Stairs(9));
  for (double& count : site.surv_count) count /= 3;
  EXPECT_EQ(ClassifySite(site, RunOf(225)).kind, VerdictKind::kInconclusive);
}

TEST(UnboundedGrowth, WithAnEpochALeakIsALeak) {
  series::RunContext run = RunOf(200);
  run.has_no_pass = false;
  run.epoch_steps = 50;
  EXPECT_EQ(ClassifySite(Keeping(std::vector<double>(200, 1)), run).kind, VerdictKind::kLeak);
}

// A cache of small features in its first pass, sampled: one record in seven steps, the first by chance in step 25.
TEST(FirstPass, ALateFirstSampleIsNoLateLeak) {
  constexpr double kRecord = 512 * 1024;
  series::SiteSeries site(120);
  site.surv_variance.assign(121, 0);
  site.surv_records.assign(121, 0);
  for (const size_t step : {25, 31, 40, 44, 55, 58, 67, 79, 83, 92, 96, 107, 113}) {
    site.alloc_bytes[step] = site.surv_bytes[step] = kRecord;
    site.alloc_count[step] = site.surv_count[step] = 512;
    site.surv_records[step] = 1;
    site.surv_variance[step] = kRecord * kRecord;
  }
  series::RunContext run = RunOf(120);
  run.has_no_pass = false;
  run.epoch_steps = 200;
  run.reference_bytes = 250 << 20;
  EXPECT_EQ(ClassifySite(site, run).kind, VerdictKind::kInconclusive);
}

// One-off and stairs, fill and leak, saw-tooth and leak: found together at one site.
TEST(Mixtures, StairsBehindAOneOffAreFound) {
  series::SiteSeries site(200);
  series::RunContext run = RunOf(200);
  run.epoch_steps = 25;
  run.has_no_pass = false;
  run.events.push_back({"eval", {}});
  for (int64_t step = 26; step <= 200; step += 25) {
    run.events[0].steps.push_back(step);
    const double bytes = (step == 26 ? 4.2e6 : 0) + 640e3;
    site.alloc_bytes[step] = site.surv_bytes[step] = bytes;
    site.alloc_count[step] = site.surv_count[step] = 10;
  }
  const Verdict verdict = ClassifySite(site, run);
  EXPECT_EQ(verdict.kind, VerdictKind::kStaircase);
  EXPECT_NEAR(*verdict.evidence.per_event_bytes, 640e3, 1e3);
  EXPECT_NE(verdict.evidence.component, "");
}

TEST(Mixtures, AOneOffWithoutStairsIsNone) {
  series::SiteSeries site(200);
  series::RunContext run = RunOf(200);
  run.epoch_steps = 25;
  run.events.push_back({"eval", {}});
  for (int64_t step = 26; step <= 200; step += 25) {
    run.events[0].steps.push_back(step);
    const double bytes = step == 26 ? 4.2e6 : step == 51 ? 2e6 : 0;
    site.alloc_bytes[step] = site.surv_bytes[step] = bytes;
    site.alloc_count[step] = site.surv_count[step] = bytes > 0;
  }
  EXPECT_FALSE(GrowsWithoutEnd(ClassifySite(site, run).kind));
}

TEST(Mixtures, ALeakUnderAFillIsFound) {
  std::vector<double> births(200, 1);
  std::fill(births.begin(), births.begin() + 50, 6);  // five entries a step are kept in the first pass alone
  series::RunContext run = RunOf(200);
  run.epoch_steps = 50;
  const Verdict verdict = ClassifySite(Keeping(births), run);
  EXPECT_TRUE(IsLeak(verdict.kind)) << VerdictName(verdict.kind);
  EXPECT_NEAR(verdict.rate_bytes_per_step->value, kEntry, 0.1 * kEntry);
  EXPECT_NE(verdict.evidence.component, "");
}

TEST(Mixtures, ALeakUnderASawToothIsFound) {
  constexpr int kSteps = 400, kTooth = 20;
  series::SiteSeries site(kSteps);
  for (int step = 1; step <= kSteps; ++step) {
    site.alloc_bytes[step] += 5 * kEntry;  // four are freed with their tooth, one stays
    site.alloc_count[step] += 5;
    site.surv_bytes[step] = kEntry;
    site.surv_count[step] = 1;
    const int end = (step - 1) / kTooth * kTooth + kTooth;
    site.free_bytes[end] += 4 * kEntry;
    site.free_count[end] += 4;
    const int age = series::AgeBucket(static_cast<uint64_t>(end - step));
    site.death_bytes[age] += 4 * kEntry;
    site.death_count[age] += 4;
  }
  series::RunContext run = RunOf(kSteps);
  run.epoch_steps = 50;
  const Verdict verdict = ClassifySite(site, run);
  EXPECT_TRUE(IsLeak(verdict.kind)) << VerdictName(verdict.kind);
  EXPECT_NEAR(verdict.rate_bytes_per_step->value, kEntry, 0.1 * kEntry);
}

}  // namespace
}  // namespace plateau::verdict

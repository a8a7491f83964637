// What sites are told in sums is what the changes, one by one, come to.
#include "analyzer/replay/site_tally.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tests/analyzer/replay/random_run.h"
#include "tests/analyzer/replay/replayed.h"

namespace plateau::replay {
namespace {

// What the events of a run come to, one by one.
struct Sums {
  std::map<std::pair<uint32_t, uint32_t>, Flow> flows;
  std::map<uint32_t, double> deaths, live, peaks;
  std::map<std::pair<uint32_t, uint32_t>, int> sampled;
  std::map<uint32_t, bool> is_sampled;

  explicit Sums(const RandomRun& run) {
    for (const RandomRun::Event& e : run.events) {
      const double bytes = static_cast<double>(e.bytes) * e.weight;
      Flow& flow = flows[{e.site, e.bucket}];
      (e.is_birth ? flow.alloc_bytes : flow.free_bytes) += bytes;
      if (!e.is_birth) deaths[e.bucket - e.birth] += e.weight;
      live[e.site] += e.is_birth ? bytes : -bytes;
      peaks[e.site] = std::max(peaks[e.site], live[e.site]);
      if (e.weight != 1) is_sampled[e.site] = true;
      if (is_sampled[e.site]) sampled[{e.site, e.birth}] += e.is_birth ? 1 : -1;
    }
  }
};

void ExpectAsOneByOne(const RandomRun& run, double tolerance) {
  const Replayed r = Replay(run.text, run.bucket_ends);
  const Sums sums(run);
  ASSERT_EQ(r.flows.size(), sums.flows.size());
  for (const auto& [key, flow] : sums.flows) {
    EXPECT_NEAR(r.flows.at(key).alloc_bytes, flow.alloc_bytes, tolerance) << key.first << " " << key.second;
    EXPECT_NEAR(r.flows.at(key).free_bytes, flow.free_bytes, tolerance) << key.first << " " << key.second;
  }
  ASSERT_EQ(r.deaths.size(), sums.deaths.size());
  for (const auto& [age, count] : sums.deaths) EXPECT_NEAR(r.deaths.at(age), count, tolerance) << age;
  for (const auto& [site, peak] : sums.peaks) EXPECT_NEAR(r.site_peaks.at(site), peak, tolerance) << site;
  EXPECT_EQ(r.sampled, sums.sampled);
}

TEST(SiteTallyTest, SumsOfExactChangesAreExact) {
  for (uint32_t seed = 1; seed <= 20; ++seed) ExpectAsOneByOne(RandomRun(seed, 3000, INT32_MAX), 0);
}

TEST(SiteTallyTest, SitesThatBecomeSampledTellEachChangeFromThere) {
  for (uint32_t seed = 1; seed <= 20; ++seed) ExpectAsOneByOne(RandomRun(seed, 3000, 1234), 1e-3);
}

TEST(SiteTallyTest, SizesAreCountedOnce) {
  SizeSet sizes;
  int news = 0;
  for (int round = 0; round < 3; ++round) {
    for (uint64_t bytes = 4000; bytes < 4030; ++bytes) news += sizes.Add(bytes);
  }
  EXPECT_NEAR(news, 30, 4);  // two may have one hash
  EXPECT_NEAR(sizes.Estimate(), 30, 4);
  SizeSet other;
  other.Add(17);
  sizes.Add(other);
  EXPECT_FALSE(sizes.Add(17));
}

TEST(SiteTallyTest, ClearKeepsTheSizesAlone) {
  SiteTally tally;
  tally.Born(64, 1, /*is_object=*/true);
  tally.Born(100, 1, /*is_object=*/true);
  tally.Born(28, 1, /*is_object=*/false);
  tally.Died(64, 1, /*is_object=*/true, /*is_temporary=*/true);
  EXPECT_EQ(tally.alloc[kBytes], 192);
  EXPECT_EQ(tally.alloc[kObjects], 2);
  EXPECT_EQ(tally.grown_bytes, 28);
  EXPECT_EQ(tally.high_bytes, 192);
  EXPECT_EQ(tally.change_bytes, 128);
  EXPECT_EQ(tally.new_size_bytes, 164);
  EXPECT_EQ(tally.square_bytes, 64 * 64 + 100 * 100);
  EXPECT_EQ(tally.power_of_two_count, 1);
  tally.Clear();
  tally.Born(64, 1, /*is_object=*/true);
  EXPECT_EQ(tally.alloc[kBytes], 64);
  EXPECT_EQ(tally.temporary[kObjects], 0);
  EXPECT_EQ(tally.new_size_bytes, 0) << "seen before";
}

}  // namespace
}  // namespace plateau::replay

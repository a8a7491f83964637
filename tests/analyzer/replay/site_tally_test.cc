// What sites are told in sums is what the changes, one by one, come to.
#include "analyzer/replay/site_tally.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/analyzer/replay/replayed.h"

namespace plateau::replay {
namespace {

struct Object {
  uint64_t address;
  uint64_t bytes;
  double weight;
  uint32_t site;
  uint32_t bucket;
};

// Random allocations and frees on three sites, in buckets of 100 events, and what each of them adds.
struct RandomRun {
  std::string text;
  std::vector<uint64_t> bucket_ends;
  std::map<std::pair<uint32_t, uint32_t>, Flow> flows;
  std::map<uint32_t, double> deaths, live, peaks;
  std::map<std::pair<uint32_t, uint32_t>, int> sampled;
  std::map<uint32_t, bool> is_sampled;

  // From event `sampled_from` on, objects below 16 KiB are sampled.
  RandomRun(uint32_t seed, int events, int sampled_from) {
    std::mt19937 random(seed);
    std::vector<Object> objects;
    text = "header mode=exact python_sample=0\n";
    for (int i = 0; i < events; ++i) {
      const uint32_t bucket = static_cast<uint32_t>(i / 100);
      if (i % 100 == 0 && i != 0) bucket_ends.push_back(static_cast<uint64_t>(i) * 10 + 5);
      const uint64_t now = static_cast<uint64_t>(i) * 10 + 6;
      if (i == sampled_from) {
        absl::StrAppendFormat(&text, "@%d rate mode=default exact_from=16384 sample=100000\n", now - 1);
      }
      if (objects.empty() || random() % 100 < 55) {
        const uint64_t bytes = random() % 4 == 0 ? 20000 + random() % 9 : 1 + random() % 3000;
        const double p = -std::expm1(-static_cast<double>(bytes) / 100000);
        const bool is_sampled_now = i >= sampled_from && bytes < 16384;
        objects.push_back({0x10000 + 16 * static_cast<uint64_t>(i), bytes, is_sampled_now ? 1 / p : 1,
                           1 + static_cast<uint32_t>(random() % 3), bucket});
        absl::StrAppendFormat(&text, "@%d alloc address=0x%x bytes=%d stack=%d\n", now,
                              objects.back().address, bytes, objects.back().site);
        Count(objects.back(), /*is_birth=*/true, bucket);
      } else {
        // Mostly young ones, so that some are temporary and some are old.
        const size_t back = std::min<size_t>(objects.size(), 1 + random() % (random() % 3 == 0 ? 400 : 5));
        const auto chosen = objects.end() - static_cast<std::ptrdiff_t>(back);
        absl::StrAppendFormat(&text, "@%d free address=0x%x\n", now, chosen->address);
        Count(*chosen, /*is_birth=*/false, bucket);
        objects.erase(chosen);
      }
    }
  }

  void Count(const Object& object, bool is_birth, uint32_t bucket) {
    const double bytes = static_cast<double>(object.bytes) * object.weight;
    Flow& flow = flows[{object.site, bucket}];
    (is_birth ? flow.alloc_bytes : flow.free_bytes) += bytes;
    if (!is_birth) deaths[bucket - object.bucket] += object.weight;
    live[object.site] += is_birth ? bytes : -bytes;
    peaks[object.site] = std::max(peaks[object.site], live[object.site]);
    if (object.weight != 1) is_sampled[object.site] = true;
    if (is_sampled[object.site]) sampled[{object.site, object.bucket}] += is_birth ? 1 : -1;
  }
};

void ExpectAsOneByOne(const RandomRun& run, double tolerance) {
  const Replayed r = Replay(run.text, run.bucket_ends);
  ASSERT_EQ(r.flows.size(), run.flows.size());
  for (const auto& [key, flow] : run.flows) {
    EXPECT_NEAR(r.flows.at(key).alloc_bytes, flow.alloc_bytes, tolerance) << key.first << " " << key.second;
    EXPECT_NEAR(r.flows.at(key).free_bytes, flow.free_bytes, tolerance) << key.first << " " << key.second;
  }
  ASSERT_EQ(r.deaths.size(), run.deaths.size());
  for (const auto& [age, count] : run.deaths) EXPECT_NEAR(r.deaths.at(age), count, tolerance) << age;
  for (const auto& [site, peak] : run.peaks) EXPECT_NEAR(r.site_peaks.at(site), peak, tolerance) << site;
  EXPECT_EQ(r.sampled, run.sampled);
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

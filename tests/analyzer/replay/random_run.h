// Random allocations and frees on three sites, in buckets of 100 events: as the text of a trace, and as what
// each of them adds.
#ifndef PLATEAU_TESTS_ANALYZER_REPLAY_RANDOM_RUN_H_
#define PLATEAU_TESTS_ANALYZER_REPLAY_RANDOM_RUN_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"

namespace plateau::replay {

struct RandomRun {
  struct Event {
    uint64_t address;
    uint64_t bytes;
    double weight;
    uint32_t site;  // and stack
    uint32_t birth;
    uint32_t bucket;
    bool is_birth;
  };

  // From event `sampled_from` on, objects below 16 KiB are sampled.
  RandomRun(uint32_t seed, int count, int sampled_from) {
    std::mt19937 random(seed);
    std::vector<Event> live;
    text = "header mode=exact python_sample=0\n";
    for (int i = 0; i < count; ++i) {
      const uint32_t bucket = static_cast<uint32_t>(i / 100);
      if (i % 100 == 0 && i != 0) bucket_ends.push_back(static_cast<uint64_t>(i) * 10 + 5);
      const uint64_t now = static_cast<uint64_t>(i) * 10 + 6;
      if (i == sampled_from) {
        absl::StrAppendFormat(&text, "@%d rate mode=default exact_from=16384 sample=100000\n", now - 1);
      }
      if (live.empty() || random() % 100 < 55) {
        const uint64_t bytes = random() % 4 == 0 ? 20000 + random() % 9 : 1 + random() % 3000;
        const bool is_sampled = i >= sampled_from && bytes < 16384;
        const double p = is_sampled ? -std::expm1(-static_cast<double>(bytes) / 100000) : 1;
        live.push_back({0x10000 + 16 * static_cast<uint64_t>(i), bytes, 1 / p,
                        1 + static_cast<uint32_t>(random() % 3), bucket, bucket, true});
        absl::StrAppendFormat(&text, "@%d alloc address=0x%x bytes=%d stack=%d\n", now, live.back().address,
                              bytes, live.back().site);
        events.push_back(live.back());
        continue;
      }
      // Mostly young ones, so that some are temporary and some are old.
      const size_t back = std::min<size_t>(live.size(), 1 + random() % (random() % 3 == 0 ? 400 : 5));
      const auto chosen = live.end() - static_cast<std::ptrdiff_t>(back);
      absl::StrAppendFormat(&text, "@%d free address=0x%x\n", now, chosen->address);
      events.push_back(*chosen);
      events.back().bucket = bucket;
      events.back().is_birth = false;
      live.erase(chosen);
    }
  }

  std::string text;
  std::vector<uint64_t> bucket_ends;
  std::vector<Event> events;
};

}  // namespace plateau::replay

#endif  // PLATEAU_TESTS_ANALYZER_REPLAY_RANDOM_RUN_H_

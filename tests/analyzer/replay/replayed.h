// A trace written as text, replayed, with everything the replay said about it.
#ifndef PLATEAU_TESTS_ANALYZER_REPLAY_REPLAYED_H_
#define PLATEAU_TESTS_ANALYZER_REPLAY_REPLAYED_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/replay/heap_replay.h"

namespace plateau::replay {

// The nodes that every text begins with.
inline constexpr char kNodes[] = R"(
node node=1 parent=0 location=1
node node=2 parent=0 location=2
node node=3 parent=0 location=3
)";

struct Flow {
  double alloc_bytes = 0, free_bytes = 0, freed_count = 0;
};

struct Survivors {
  double bytes = 0, count = 0, variance = 0, tensors = 0;
};

struct Replayed : ReplayResult {
  std::map<std::pair<uint32_t, uint32_t>, Flow> flows;           // (site, bucket)
  std::map<std::pair<uint32_t, uint32_t>, Survivors> survivors;  // (site, birth)
  std::map<uint32_t, double> deaths;                             // age -> count
  std::map<uint32_t, double> site_peaks;                         // site -> most it held at once
  std::map<std::pair<uint32_t, uint32_t>, int> sampled;          // (site, birth) -> records of survivors
  std::vector<LiveView> retained;                                // in the order they were told

  // Every number, to the last bit: equal for equal replays.
  std::string Fingerprint() const;
};

// One site per stack node, numbered by node; python and mmap pools 100 and 200 higher.
uint32_t SiteOf(Pool pool, uint32_t node);

// Checks that what is retained is the same whichever way it is counted.
Replayed Replay(const std::string& text, std::vector<uint64_t> bucket_ends = {},
                uint32_t last_bucket = UINT32_MAX, int threads = 0);

double Live(const ReplayResult& result, uint32_t site);
double LiveCount(const ReplayResult& result, uint32_t site);
double Survived(const Replayed& result, uint32_t site, uint32_t birth);

}  // namespace plateau::replay

#endif  // PLATEAU_TESTS_ANALYZER_REPLAY_REPLAYED_H_

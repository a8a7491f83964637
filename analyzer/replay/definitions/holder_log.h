// What the looks for holders said: which walks there were, and the chains of references that they found.
//
// The records come from a file, and their texts from the traced program: every list and text here has a limit,
// and what is beyond it or makes no sense is left out and counted.
#ifndef PLATEAU_ANALYZER_REPLAY_DEFINITIONS_HOLDER_LOG_H_
#define PLATEAU_ANALYZER_REPLAY_DEFINITIONS_HOLDER_LOG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "preload/trace/holder_path.h"
#include "preload/trace/record.h"

namespace plateau::replay {

struct PathSegment {
  trace::SegmentKind kind{};
  uint64_t number = 0;
  std::string text;
};

// One chain of a walk. The fields are those of trace::HolderRecord.
struct HolderChain {
  uint64_t tsc = 0;
  uint64_t walk = 0;
  uint32_t stack = 0;  // canonical once the definitions are complete
  trace::HolderEnd end{};
  double targets_found = 0;
  double targets_asked = 0;  // at least targets_found
  double bytes = 0;
  uint64_t container = 0;
  double length = 0;
  double bound = 0;
  size_t container_segments = 0;  // at most as many as the path has
  uint32_t native_stack = 0;
  std::string container_type;
  std::string what;
  std::vector<PathSegment> path;
};

struct TimedWalk {
  uint64_t tsc = 0;
  trace::HolderWalkRecord walk{};
};

struct HolderLog {
  static constexpr size_t kMaxWalks = 4096;
  static constexpr size_t kMaxChains = 20'000;

  std::vector<TimedWalk> walks;     // by time
  std::vector<HolderChain> chains;  // by time
  uint64_t damaged_chains = 0;      // left out, because they make no sense
  uint64_t surplus = 0;             // walks and chains beyond the limits

  void Add(uint64_t tsc, const trace::HolderWalkRecord& walk);
  void Add(uint64_t tsc, const trace::HolderRecord& holder);
  // Takes what another log has, up to the limits.
  void Add(HolderLog&& other);
  void SortByTime();
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_DEFINITIONS_HOLDER_LOG_H_

// Which ranks of a job differ from the others, and in what: one that grows at a line where the others do not, one
// that holds much more, one that ended before the others.
//
// The rules are those of `plateau fleet` (python/plateau_trace/fleet/sql/odd_*.sql), which says them of recordings from many
// machines; docs/fleet.md explains them, and tests/e2e/fleet_test.py compares what both say. Pure.
#ifndef PLATEAU_ANALYZER_REPORT_RANKS_ODD_RANKS_H_
#define PLATEAU_ANALYZER_REPORT_RANKS_ODD_RANKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/report/rank_summary.h"

namespace plateau::report {

// What a rank keeps at one line, in one pool.
struct RankSite {
  std::string name;  // "data.py:57 in collate"
  std::string pool;
  bool grows = false;  // so says its verdict
  double growth_bytes_per_step = 0;
  double growth_low = 0;  // lower end of the interval; 0 when there is none
  int64_t retained_bytes = 0;
};

// What is known of one process that may be a rank.
struct RankFacts {
  RankSummary summary;
  size_t process = 0;  // among those of the report
  double start_seconds = 0;
  bool is_sound = true;         // all of its trace could be read
  bool was_killed = false;      // its trace has no end
  std::vector<RankSite> sites;  // those that grow or are large
};

enum class Oddness { kGrows, kWasKilled, kStoppedEarly, kHoldsMore };

struct OddRank {
  size_t index = 0;  // among the ranks
  Oddness kind = Oddness::kGrows;
  std::string site;   // of what grows or is large
  double value = 0;   // bytes per step, bytes, or steps
  double middle = 0;  // the same of the median rank
};

// One entry for each rank, its last attempt, in the order of ranks; `earlier_attempts` counts those before.
std::vector<RankFacts> LastAttempts(std::vector<RankFacts> processes);

// Those that grow first, then by the distance from the others.
std::vector<OddRank> FindOddRanks(const std::vector<RankFacts>& ranks);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_RANKS_ODD_RANKS_H_

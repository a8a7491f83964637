// What is said of a job of several ranks: which of them differ from the others.
//
//   "8 ranks: leak in rank 3 (64.0 KiB/step at data.py:57 in collate); steady in the other 7."
//
// One rank alone is named with its group of parallelism, where the environment or torch told it.
// A rank is a process that trains under a number of its own. What it forks or spawns inherits that number and is a
// worker, not a rank. When a launcher started a rank again, its last attempt speaks and the attempts are counted.
// Pure.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_RANK_WORDS_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_RANK_WORDS_H_

#include <string>
#include <vector>

namespace plateau::report {

// What is known of one process that may be a rank.
struct RankFacts {
  int rank = 0;
  double start_seconds = 0;
  std::string verdict;  // "slow_leak"
  std::string site;     // the line that made the verdict; may be empty
  double rate_bytes_per_step = 0;
  std::string group;  // of parallelism, "dp=1/2 tp=0/2"; may be empty
};

// "" where fewer than two ranks are.
std::string RanksInWords(std::vector<RankFacts> processes);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_RANK_WORDS_H_

// What is said of a job of several ranks: which of them differ from the others.
//
//   "8 ranks: leak in rank 3 (64.0 KiB/step at data.py:57 in collate); steady in the other 7."
//   "4 ranks: steady in all of them. Rank 1 holds 64.0 MiB at data.py:12 in load; the median rank has 0 B there."
//
// One rank alone is named with its group of parallelism, where the environment or torch told it.
// A rank is a process that trains under a number of its own. What it forks or spawns inherits that number and is a
// worker, not a rank. When a launcher started a rank again, its last attempt speaks and the attempts are counted.
// Pure.
#ifndef PLATEAU_ANALYZER_REPORT_RANKS_RANK_WORDS_H_
#define PLATEAU_ANALYZER_REPORT_RANKS_RANK_WORDS_H_

#include <string>
#include <vector>

#include "analyzer/report/ranks/odd_ranks.h"

namespace plateau::report {

// "" where fewer than two ranks are. `odd` is what FindOddRanks() says of the same ranks.
std::string RanksInWords(const std::vector<RankFacts>& ranks, const std::vector<OddRank>& odd);

// "grows by 64.0 KiB/step at data.py:57 in collate; the median rank by 0 B/step".
std::string OddInWords(const OddRank& odd);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_RANKS_RANK_WORDS_H_

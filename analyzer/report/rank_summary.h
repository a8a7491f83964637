// One rank of a job as a recording shows it: what the page draws beside the other ranks.
#ifndef PLATEAU_ANALYZER_REPORT_RANK_SUMMARY_H_
#define PLATEAU_ANALYZER_REPORT_RANK_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace plateau::report {

// Of the one process that is the rank, never a sum with its workers. Columns of one length.
struct RankCurve {
  std::vector<double> step;
  std::vector<double> seconds;
  std::vector<int64_t> live_bytes;
  std::vector<int64_t> rss_bytes;
};

struct RankSummary {
  int rank = 0;
  int64_t pid = 0;               // of the last attempt, which speaks for the rank
  int64_t earlier_attempts = 0;  // that a launcher started again
  int64_t workers = 0;           // processes under it without a number of their own
  std::string group;             // of parallelism: "dp=1/2 tp=0/2"; may be empty
  std::string verdict;           // "slow_leak"
  std::string site;              // the line that made the verdict; may be empty
  double rate_bytes_per_step = 0;
  int64_t steps = 0;
  double end_seconds = 0;  // from the start of the recording
  std::string ending;
  int64_t retained_bytes = 0;
  int64_t peak_bytes = 0;
  int64_t peak_rss_bytes = 0;
  std::vector<std::string> odd;  // how it differs from the other ranks, one sentence each; mostly empty
  RankCurve curve;               // of few points; empty when there are too many ranks for one of each
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_RANK_SUMMARY_H_

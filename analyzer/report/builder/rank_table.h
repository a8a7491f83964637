// Collects what a report shows of each rank while its processes go by, one at a time: an analysis is large, what is kept
// of it here is small.
//
//   RankTable ranks(recording, tree);
//   ranks.Add(i, process, facts, headline);      // once per process of the report, parents before their children
//   model.verdict.sentence += ranks.Finish(model.processes, &model.ranks);
//
// A rank is a process that trains under a number of its own. What works for it hangs under it.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_RANK_TABLE_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_RANK_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/process/analyze_process.h"
#include "analyzer/reader/process_tree.h"
#include "analyzer/reader/recording.h"
#include "analyzer/report/builder/process_headline.h"
#include "analyzer/report/ranks/odd_ranks.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

class RankTable {
 public:
  // Both must outlive it.
  RankTable(const reader::Recording& recording, const reader::ProcessTree& tree)
      : recording_(recording), tree_(tree) {}

  void Add(size_t trace, const process::ProcessAnalysis& process, const Process& facts,
           const ProcessHeadline& headline);

  // Fills the list, where there are several ranks, and returns the words about them, "" where there are not.
  // How the processes ended tells the killed ones from those that a launcher stopped after them.
  std::string Finish(const std::vector<Process>& processes, std::vector<RankSummary>* out);

 private:
  void AddRank(size_t trace, const process::ProcessAnalysis& process, const Process& facts,
               const ProcessHeadline& headline);
  void AddWorker(size_t trace, const process::ProcessAnalysis& process);

  const reader::Recording& recording_;
  const reader::ProcessTree& tree_;
  size_t processes_ = 0;  // that were added
  std::vector<RankFacts> ranks_;
  absl::flat_hash_map<size_t, size_t> rank_of_trace_;  // index into ranks_
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_RANK_TABLE_H_

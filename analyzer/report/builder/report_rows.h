// The rows of a report: every stack of every process becomes part of a site, of a leftover and of the stack
// tree, in whole numbers, so that everything above them is a sum of them.
//
//   ReportRows rows(options, &model);
//   rows.Add(process, index);         // once per process; model.processes[index] is there already
//   rows.Finish(headline_process);    // verdicts of the sites, totals
//
// Not thread-safe. The model and the options must outlive it.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_REPORT_ROWS_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_REPORT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/process/analyze_process.h"
#include "analyzer/process/row_digest.h"
#include "analyzer/report/builder/build_report.h"
#include "analyzer/report/builder/site_opinions.h"
#include "analyzer/report/builder/stack_tree.h"
#include "analyzer/report/report_model.h"
#include "analyzer/symbols/source_text.h"

namespace plateau::report {

class ReportRows {
 public:
  ReportRows(const BuildOptions& options, ReportModel* model)
      : options_(options),
        model_(*model),
        frames_(&model->frames),
        tree_(&frames_, &model->stacks),
        source_(options.sysroot) {}

  void Add(const process::ProcessAnalysis& process, size_t index) {
    AddRows(process, index);
    AddLeftovers(process);
  }

  // `headline` is the process whose curves the sites show.
  void Finish(size_t headline) {
    opinions_.Settle(headline, &model_.sites);
    SumTotals();
  }

  // The source around the first sites and around the one that made the verdict; the order of the sites is final.
  void AddExcerpts();

 private:
  void AddRows(const process::ProcessAnalysis& process, size_t index);
  // The exact counters of the process against what the rows of its heap add up to.
  void AddLeftovers(const process::ProcessAnalysis& process);
  static void AddToSite(const std::string& process_name, const process::RowAmounts& amounts, Site* site);
  void AddToTree(int32_t node, const process::RowAmounts& amounts, double growth, int32_t site,
                 bool is_device);
  size_t SiteIndex(const process::ProcessAnalysis& process, size_t site);
  Leftover& LeftoverNamed(const char* name, const char* explanation);
  void SumTotals();

  const BuildOptions& options_;
  ReportModel& model_;
  FrameTable frames_;
  StackTree tree_;
  symbols::SourceText source_;
  absl::flat_hash_map<std::string, size_t> sites_;  // what makes a site -> its index in the model
  SiteOpinions opinions_;
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_REPORT_ROWS_H_

// What the processes of a recording say about a site that several of them have, until one speaks for it.
//
// Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_SITE_OPINIONS_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_SITE_OPINIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/process/analyze_process.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

class SiteOpinions {
 public:
  // Site `site` of a process is site `model_site` of the model. What adds up over processes (tensors, ages,
  // first and last step) goes into `in_model` at once.
  void Add(const process::ProcessAnalysis& process, size_t site, size_t process_index, size_t model_site,
           bool with_curves, Site* in_model);

  // Of several processes the one that holds most of the site speaks for it; curves are those of the
  // headline's process, `chosen`.
  void Settle(size_t chosen, std::vector<Site>* sites);

 private:
  struct Opinion {
    size_t process;
    int64_t retained_bytes = 0;
    std::string verdict;
    std::string evidence;
    std::vector<EvidenceNumber> numbers;
    double growth_bytes_per_step = 0;
    std::optional<Interval> growth_interval;
    std::vector<int64_t> live_bytes;
    std::vector<int64_t> survivor_bytes;
    TensorCurve tensors;
    series::SiteHolding holding;
  };

  static void AddCurves(Site* site, const Opinion& opinion);

  std::vector<std::vector<Opinion>> opinions_;  // by site of the model
  series::SiteSeries series_;                   // of the site being added
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_SITE_OPINIONS_H_

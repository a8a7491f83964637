// Judges each site of a process by its series, on as many threads as ask.
//
//   SiteJudging judging(&input);
//   std::jthread helper([&] { judging.Work(); });
//   judging.Work();
//   helper.join();
//   const Analysis analysis = RunAnalysis(input, judging.Finish());
//
// This takes longest of an analysis and does not ask who the sites are: of `site_info` it reads the pools
// alone and nothing of `site_traits`, so another thread may fill in the rest meanwhile.
#ifndef PLATEAU_ANALYZER_VERDICT_SITE_JUDGING_H_
#define PLATEAU_ANALYZER_VERDICT_SITE_JUDGING_H_

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/series/ledger.h"
#include "analyzer/series/process_series.h"
#include "analyzer/series/run_context.h"
#include "analyzer/series/site_series.h"
#include "analyzer/verdict/analysis.h"
#include "analyzer/verdict/process_classifier.h"

namespace plateau::verdict {

// A kind of memory with the series it is judged by and the run as its sites see it.
struct PoolContext {
  std::string name;
  series::ProcessSeries series;
  series::RunContext run;             // in steps, with the reference of this pool
  series::RunContext run_in_buckets;  // the same for the sites' series
  std::vector<SiteFinding> findings;
  std::vector<size_t> sites;  // their indices in the input
};

struct JudgedSites {
  std::vector<PoolContext> pools;  // "host" first
  std::vector<SiteAnalysis> sites;
};

class SiteJudging {
 public:
  // `input` must outlive it, with the pools of all sites already named.
  explicit SiteJudging(const AnalysisInput* input);

  // Judges sites until the last one is begun. From any thread.
  void Work();

  // When every call of Work() has returned, one at least. Once.
  JudgedSites Finish() { return std::move(judged_); }

 private:
  struct Place {
    size_t pool;
    size_t finding;  // of the pool's
  };

  void Judge(size_t site, series::SiteSeries* series);

  const AnalysisInput& input_;
  JudgedSites judged_;
  std::vector<Place> places_;  // by site
  std::atomic<size_t> next_{0};
};

// The samples up to the last step. What is read while the program ends shows everything freed, and says
// nothing about the run: such readings come after the last step, or carry its number with far fewer live
// bytes than before.
std::vector<series::LedgerSample> WithoutTeardown(std::vector<series::LedgerSample> ledger, double last_step);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_SITE_JUDGING_H_

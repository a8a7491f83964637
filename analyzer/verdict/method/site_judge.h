// One site on its way to a verdict: the class behind ClassifySite(), in two files.
//
//   site_classifier.cc    the order of questions; sites that keep nothing, and sites whose level has stopped to rise
//   retained_growth.cc    sites that keep something: before and after the first pass over the data
//
// Each Judge...() either answers or leaves the question to the next.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_SITE_JUDGE_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_SITE_JUDGE_H_

#include <optional>
#include <string>
#include <vector>

#include "analyzer/series/run_context.h"
#include "analyzer/series/site_series.h"
#include "analyzer/verdict/method/forecast.h"
#include "analyzer/verdict/method/retention_state.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

class SiteJudge {
 public:
  SiteJudge(const series::SiteSeries& site, const series::RunContext& run)
      : site_(site),
        run_(run),
        steps_(static_cast<int>(run.steps)),
        floor_(FloorRate(run)),
        reference_(run.Reference()),
        epoch_(run.epoch_steps.value_or(0)) {}

  Verdict Judge();

 private:
  bool coarse() const { return run_.bucket_steps > 1; }
  Values allocated() const { return Values(site_.alloc_bytes).subspan(1); }
  SurvivorWindow Window() const {
    const size_t n = static_cast<size_t>(mature_);
    return {Values(site_.surv_bytes).subspan(1, n),
            Values(site_.surv_records.empty() ? site_.surv_count : site_.surv_records).subspan(1, n),
            site_.surv_variance.empty() ? Values() : Values(site_.surv_variance).subspan(1, n), 1};
  }

  // ---- Nothing is retained that is old enough to count (site_classifier.cc) ----
  Verdict JudgeNothingRetained();
  bool ReachesNewHighs(const std::vector<double>& live) const;
  std::optional<Verdict> JudgeFilled(const std::vector<double>& live) const;
  void NoteEpochCycle(const std::vector<double>& live, Verdict& verdict) const;
  bool ExplainedByLoss() const;
  Verdict JudgeRetained();
  Verdict JudgeAfterFirstPass(const RetentionState& full, int pass_end, Verdict base);
  Verdict JudgeDuringFirstPass(const RetentionState& full, int pass_end, int needed, Verdict base);
  bool OnsetIsSure(const RetentionState& full) const;
  bool HasStoppedWithYoungOnes(RetentionState* full);
  Verdict JudgeStopped(const RetentionState& full, Verdict base);
  Verdict UnlessLevel(Verdict verdict) const;
  void SetHorizon(int horizon) {
    horizon_ = horizon;
    mature_ = steps_ - horizon;
  }
  std::optional<RetentionState> TailAboveDecay(const RetentionState& full, int from) const;

  Verdict Leak(const RetentionState& state, Verdict base, std::string component = "") const;
  Verdict Slowing(const RetentionState& state, Verdict base) const;
  Verdict Unclear(const RetentionState& state, Verdict base, const char* otherwise) const;

  const series::SiteSeries& site_;
  const series::RunContext& run_;
  const int steps_;
  const double floor_;
  const double reference_;
  const double epoch_;  // 0 when unknown
  int horizon_ = 0;     // W
  int mature_ = 0;      // M = T - W
};

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_SITE_JUDGE_H_

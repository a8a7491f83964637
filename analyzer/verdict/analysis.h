// The one entry point from series to everything a report says: verdicts per site, pool and process,
// hypotheses, known patterns, and the ledger.
//
//   series::SeriesAccumulator series;            // fed by the replay
//   ...
//   AnalysisInput input;
//   input.run = ...;                             // steps, epoch length, events, limit: in steps
//   input.sites = &series;                       // series in buckets of input.site_bucket_steps steps
//   input.site_bucket_steps = series.bucket_steps();
//   input.site_info = ...;                       // who the sites are, same order
//   input.site_traits = ...;                     // series.Traits(i) for each
//   input.ledger = ...;                          // samples in the order of time
//   const Analysis analysis = RunAnalysis(input);
//
// One AnalysisInput describes one process with its workers. Everything but `run.steps` and `sites` may be
// left out; what is missing is answered with "not testable" or a verdict that says what it lacks. Pure and
// deterministic; about 0.1 ms per site on one core.
#ifndef PLATEAU_ANALYZER_VERDICT_ANALYSIS_H_
#define PLATEAU_ANALYZER_VERDICT_ANALYSIS_H_

#include <optional>
#include <string>
#include <vector>

#include "analyzer/series/copy_on_write.h"
#include "analyzer/series/holding.h"
#include "analyzer/series/large_regions.h"
#include "analyzer/series/ledger.h"
#include "analyzer/series/process_series.h"
#include "analyzer/series/run_context.h"
#include "analyzer/series/site_series.h"
#include "analyzer/series/site_traits.h"
#include "analyzer/verdict/evidence_bundle.h"
#include "analyzer/verdict/hypotheses.h"
#include "analyzer/verdict/patterns.h"
#include "analyzer/verdict/process_classifier.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

struct AnalysisInput {
  // In steps. reference_bytes may be 0, the ledger's peak is used then. The limit is for forecasts: growth is
  // measured against the peak, so that a large machine does not hide a leak.
  series::RunContext run;
  bool has_python = false;

  const series::SiteSeriesSource* sites = nullptr;  // must outlive the call
  int64_t site_bucket_steps = 1;
  std::vector<SiteInfo> site_info;                    // empty, or one per site
  std::vector<series::SiteTraits> site_traits;        // empty, or one per site
  std::vector<series::SiteHolding> holdings;          // empty, or one per site
  std::vector<series::SiteReservation> reservations;  // of the first sites; the others have none
  // By site: whether lost frees cannot explain most of what stays, because it is from stacks of which far more stays
  // than was lost. Empty when no event was lost.
  std::vector<bool> keeps_despite_loss;
  std::vector<double> hole_bytes;  // of the heap's holes, by site; empty where nobody looked

  std::vector<series::LedgerSample> ledger;   // of the host; empty when no ledger was recorded
  std::vector<PoolCurve> pools;               // pinned, device, shared; sites say which they belong to
  std::vector<series::WorkerSeries> workers;  // forked helpers of this process
  // What of the process was not recorded, one clause each: "blocks of its trace are missing". Nothing is
  // called steady then.
  std::vector<std::string> not_covered;
  std::vector<ProcessEvidence> processes;        // of the whole recording, for patterns
  std::vector<StartedThreads> started_threads;   // that still ran at the end, the most first
  series::CopyOnWriteAttribution copy_on_write;  // whose pages the workers copied, by sites of this process
};

struct SiteAnalysis {
  Verdict verdict;
  double retained_bytes = 0;       // survivors old enough to count as retained
  Estimate growth_bytes_per_step;  // of the recent retention, whatever the verdict
};

struct PoolAnalysis {
  std::string name;
  Verdict verdict;
  double live_bytes = 0;
  double peak_bytes = 0;
  double reserved_bytes = 0;
  Estimate growth_bytes_per_step;  // of live bytes, over the last half
};

struct Analysis {
  ProcessVerdict process;           // headline and components; site indices are those of the input
  std::vector<SiteAnalysis> sites;  // in the order of the input
  std::vector<PoolAnalysis> pools;  // "host" first
  std::vector<Hypothesis> hypotheses;
  std::vector<PatternMatch> patterns;
  std::vector<series::LedgerParts> ledger;           // one per sample, each adds up to its RSS
  std::vector<series::BundledAllocator> allocators;  // filled by whoever has the symbols
};

Analysis RunAnalysis(const AnalysisInput& input);

// The same when the sites have been judged, see site_judging.h.
struct JudgedSites;
Analysis RunAnalysis(const AnalysisInput& input, JudgedSites judged);

struct ProcessWeight {
  const ProcessVerdict* verdict;
  double steps;  // training steps; 0 for launchers, shells and workers that ended before the training did
  double peak_bytes;
  bool is_worker = false;    // the steps are those of the process that forked it
  double begin_seconds = 0;  // when it was recorded; both 0: not known
  double end_seconds = 0;
  bool was_replaced = false;  // by another program, which exec gave its process
  // The most that a worker of the same process kept which had ended before this one began: 0 without one.
  double predecessor_kept_bytes = 0;
};

// What a process has kept by its verdict.
double KeptBytes(const ProcessVerdict& verdict);

// What a worker that still serves the training has kept and keeps: a cache, what its warm-up left.
double KeptByWorker(const ProcessWeight& process);
// Whether so little is worth a word beside an all-clear.
bool IsWorthNaming(double kept_bytes);

// Which of several processes of a recording has the verdict to headline: the most severe of those that train;
// a process that does not train counts only when none does, or when it grows without bound and is not small.
// A worker of the training counts when it grows without bound, is not small, or keeps something and all workers together
// keep a material share of what the largest process holds; but not one of workers that are started anew, epoch by epoch,
// while it is undecided and keeps no more than one before it took with it when it ended. What ended well before the recording did has nothing to
// say of it when it does not train: beside a training always, else when it was there for less than half of the time (a
// compiler, a shell); what a program was before exec never has. Among equals the one with more
// steps, then the larger one, then the earlier one.
size_t HeadlineProcess(const std::vector<ProcessWeight>& processes);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_ANALYSIS_H_

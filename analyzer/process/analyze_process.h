// One process of a recording, all the way from its trace to its verdicts.
//
//   trace --> definitions, sites --> clock --> replay --> rows --> run --> holders --> verdicts
//
// Each arrow is a stage with its own input and output type; analyze_process.cc lists them in order. The
// result keeps what every stage gave, because a report shows all of it.
#ifndef PLATEAU_ANALYZER_PROCESS_ANALYZE_PROCESS_H_
#define PLATEAU_ANALYZER_PROCESS_ANALYZE_PROCESS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/process/forked_worker.h"
#include "analyzer/process/process_clock.h"
#include "analyzer/process/process_memory.h"
#include "analyzer/process/process_run.h"
#include "analyzer/process/process_trace.h"
#include "analyzer/process/row_digest.h"
#include "analyzer/process/site_holders.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/definitions/site_table.h"
#include "analyzer/symbols/symbolizer.h"
#include "analyzer/verdict/analysis.h"

namespace plateau::process {

struct ProcessOptions {
  replay::SiteRule site_rule = replay::SiteRule::kUser;
  KnownRun known;                               // what the user knows better
  std::vector<ForkedWorker> workers;            // forked by this process
  std::vector<replay::TimedMark> parent_marks;  // of the process that forked this one
  int threads = 0;                              // 0: as many as the machine has
};

// The stages refer to each other, so an analysis stays where it was made.
struct ProcessAnalysis {
  ProcessTrace trace;
  ProcessSites sites;
  ProcessClock clock;
  ProcessMemory memory;
  RowDigest rows;
  ProcessRun run;
  SiteHolders holders;
  verdict::Analysis verdicts;

  // Whether a helper ended while the process that started it went on to train: what it held is free again.
  bool IsGone() const {
    const bool has_own_steps = !clock.is_of_parent && clock.steps.source() <= series::StepSource::kBackward;
    return clock.ended_before_parent && !has_own_steps;
  }

  std::string PoolOf(size_t site) const { return memory.PoolName(sites.pool(site)); }
  // "train.py:42 in collate".
  std::string SiteName(size_t site) const {
    return SiteTitle(sites.names->Shown(sites.table->sites()[site].location));
  }
};

// Fails only when the trace cannot be opened; damage is in `trace.definitions.summary`.
absl::StatusOr<std::unique_ptr<ProcessAnalysis>> AnalyzeProcess(const std::string& path,
                                                                const ProcessOptions& options,
                                                                symbols::Symbolizer* symbolizer);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_ANALYZE_PROCESS_H_

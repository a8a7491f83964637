// The verdict on a whole process (or one pool): its sites, plus what its memory does outside them.
//
// The headline is the most severe material component: leak and staircase before fragmentation and untraced
// growth, before an undecided site, before workers' copies, before warm-up, before what has already ended.
// Every other component is listed with its bytes. Growth that no site retains is named as such and never
// blamed on a site. Pure and deterministic.
#ifndef PLATEAU_ANALYZER_VERDICT_PROCESS_CLASSIFIER_H_
#define PLATEAU_ANALYZER_VERDICT_PROCESS_CLASSIFIER_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/series/process_series.h"
#include "analyzer/series/run_context.h"
#include "analyzer/series/site_series.h"
#include "analyzer/verdict/method/curve_reading.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// What is known about one site when the process is judged.
struct SiteFinding {
  Verdict verdict;
  double retained_bytes = 0;  // survivors old enough to count
};

struct Component {
  VerdictKind kind = VerdictKind::kSteady;
  std::optional<size_t> site;  // index into the findings; empty for what no site retains
  std::string pool = "host";
  double bytes = 0;
  std::optional<Estimate> rate_bytes_per_step;
};

struct ProcessVerdict {
  Verdict headline;
  std::optional<size_t> headline_site;
  std::vector<Component> components;         // most severe first; the headline is the first
  Growth allocator_gap = Growth::kFlat;      // held beyond what was ever live at once
  Growth outside_allocator = Growth::kFlat;  // resident beyond what the allocator holds
};

// The bytes of `site` that count as retained under `verdict`.
double RetainedBytes(const series::SiteSeries& site, const Verdict& verdict);

// The run with the reference its rates are compared with: the limit if it is the yardstick, else the larger
// of the known and the seen peak.
series::RunContext WithReference(const series::RunContext& run, const series::ProcessSeries& process);

// `run` must come from WithReference().
ProcessVerdict ClassifyProcess(std::span<const SiteFinding> sites, const series::ProcessSeries& process,
                               const series::RunContext& run);

// Does an overhead curve grow? An overhead is not data, so the first pass is no excuse for it.
struct OverheadTrend {
  Growth growth = Growth::kFlat;
  Slope slope;  // over the last two thirds
};
OverheadTrend JudgeOverhead(Values step, Values bytes, const series::RunContext& run);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_PROCESS_CLASSIFIER_H_

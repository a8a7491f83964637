// The verdict on a whole process (or one pool): its sites, plus what its memory does outside them.
//
// The headline is the most severe component in the order of HeadlineRank() (honesty.h), which also says when an
// all-clear may be given. Every other component is listed with its bytes. Growth that no site retains is named
// as such and never blamed on a site. Pure and deterministic.
#ifndef PLATEAU_ANALYZER_VERDICT_PROCESS_CLASSIFIER_H_
#define PLATEAU_ANALYZER_VERDICT_PROCESS_CLASSIFIER_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/series/process_series.h"
#include "analyzer/series/run_context.h"
#include "analyzer/series/site_series.h"
#include "analyzer/verdict/honesty.h"
#include "analyzer/verdict/measured_process.h"
#include "analyzer/verdict/method/curves/curve_reading.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

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
  Slope resident;                            // of resident memory, over the last two thirds
};

// True of a site whose verdict says that something born in the steps is still held.
bool RemainsKept(VerdictKind kind);

// The bytes of `site` that count as retained under `verdict`.
double RetainedBytes(const series::SiteSeries& site, const Verdict& verdict);

// The run with the reference its rates are compared with: the limit if it is the yardstick, else the larger
// of the known and the seen peak.
series::RunContext WithReference(const series::RunContext& run, const series::ProcessSeries& process);

// A finding with everything the honesty rules ask for.
SiteFinding FindingOf(const series::SiteSeries& site, Verdict verdict, Estimate growth_bytes_per_step);

// What a site keeps per step lately, whatever its verdict: its last third.
Estimate RecentRetention(const series::SiteSeries& site, const Verdict& verdict);

// `run` must come from WithReference(). `not_covered` says what of the process was not recorded.
ProcessVerdict ClassifyProcess(std::span<const SiteFinding> sites, const series::ProcessSeries& process,
                               const series::RunContext& run, std::vector<std::string> not_covered = {});

// The same when the series have been read.
ProcessVerdict DecideHeadline(std::span<const SiteFinding> sites, const MeasuredProcess& measured);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_PROCESS_CLASSIFIER_H_

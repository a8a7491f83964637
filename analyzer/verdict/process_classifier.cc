#include "analyzer/verdict/process_classifier.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/verdict/method/curve_classifier.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/worker_copies.h"

namespace plateau::verdict {
namespace {

using series::ProcessSeries;
using series::RunContext;

// Components of one rank are ordered by their size.
struct Candidate {
  double size = 0;
  Component component;
  Verdict verdict;
};

Candidate OfSite(double size, size_t index, const SiteFinding& finding) {
  Candidate candidate{size, {}, finding.verdict};
  candidate.component = {.kind = finding.verdict.kind,
                         .site = index,
                         .bytes = finding.retained_bytes,
                         .rate_bytes_per_step = finding.verdict.rate_bytes_per_step};
  return candidate;
}

Candidate OfProcess(double size, Verdict verdict, double bytes) {
  Candidate candidate{size, {}, std::move(verdict)};
  candidate.component = {.kind = candidate.verdict.kind,
                         .bytes = bytes,
                         .rate_bytes_per_step = candidate.verdict.rate_bytes_per_step};
  return candidate;
}

Verdict GrowingOverhead(VerdictKind kind, const Slope& slope, std::string why) {
  Verdict verdict;
  verdict.kind = kind;
  verdict.why = std::move(why);
  verdict.rate_bytes_per_step = Estimate{slope.value, Interval{slope.low, slope.high}};
  return verdict;
}

void AddSites(std::span<const SiteFinding> sites, double reference, std::vector<Candidate>& candidates) {
  for (size_t i = 0; i < sites.size(); ++i) {
    const SiteFinding& site = sites[i];
    const double rate = site.verdict.rate_bytes_per_step ? site.verdict.rate_bytes_per_step->value : 0;
    const bool material = site.retained_bytes > kProcessMaterial * reference;
    switch (site.verdict.kind) {
      case VerdictKind::kLeak:
      case VerdictKind::kSlowLeak:
      case VerdictKind::kStaircase:
        candidates.push_back(OfSite(rate, i, site));
        break;
      case VerdictKind::kInconclusive:
        if (material) candidates.push_back(OfSite(site.retained_bytes, i, site));
        break;
      case VerdictKind::kWarmupInProgress:
        if (material) candidates.push_back(OfSite(site.retained_bytes, i, site));
        break;
      case VerdictKind::kCacheFill:
      case VerdictKind::kWarmupComplete:
      case VerdictKind::kSpikeRetained:
        if (material) candidates.push_back(OfSite(site.retained_bytes, i, site));
        break;
      case VerdictKind::kSpikeRecovered:
        candidates.push_back(OfSite(0, i, site));
        break;
      default:
        break;
    }
  }
}

void AddWorkers(const ProcessSeries& process, double reference, std::vector<Candidate>& candidates) {
  const WorkerCopies copies = MostAtOnce(process.workers);
  const double private_growth = copies.private_growth_bytes;
  const double of_data = private_growth * (1 - process.share_copied_of_imports);
  if (of_data <= kProcessMaterial * reference || copies.heap_growth_bytes >= 0.3 * private_growth) return;
  Verdict verdict;
  verdict.kind = VerdictKind::kWorkerDuplication;
  verdict.why = "private memory of forked workers grows, their own heaps do not";
  verdict.evidence.worker_private_growth_bytes = private_growth;
  verdict.evidence.worker_heap_growth_bytes = copies.heap_growth_bytes;
  verdict.evidence.worker_bound_bytes = copies.bound_bytes;
  candidates.push_back(OfProcess(private_growth, std::move(verdict), private_growth));
}

}  // namespace

double RetainedBytes(const series::SiteSeries& site, const Verdict& verdict) {
  const int64_t horizon =
      std::max<int64_t>(1, static_cast<int64_t>(verdict.evidence.maturity_steps.value_or(1)));
  const int64_t mature = std::max<int64_t>(1, site.buckets() - horizon);
  if (site.buckets() < 1) return 0;
  return Sum(Values(site.surv_bytes).subspan(1, std::min(mature, site.buckets())));
}

RunContext WithReference(const RunContext& run, const ProcessSeries& process) {
  RunContext with = run;
  const double seen = process.rss.empty() ? 0 : Max(process.rss);
  const bool use_limit = run.limit_bytes.value_or(0) > 0 && run.limit_is_reference;
  with.reference_bytes = use_limit ? *run.limit_bytes : std::max(run.reference_bytes, seen);
  return with;
}

OverheadTrend JudgeOverhead(Values step, Values bytes, const RunContext& run) {
  OverheadTrend trend;
  const size_t n = step.size();
  if (n < 4) return trend;
  RunContext bare = run;
  bare.epoch_steps.reset();
  bare.events.clear();
  // Keep the level positive and comparable to the process.
  const double offset = std::max(0.0, -Min(bytes)) + run.reference_bytes * 0.5;
  series::MemoryCurve curve;
  curve.step.assign(step.begin(), step.end());
  for (double b : bytes) curve.bytes.push_back(b + offset);
  const VerdictKind kind = ClassifyCurve(curve, bare).kind;

  const size_t third = n / 3;
  trend.slope = RobustSlope(step.subspan(third), bytes.subspan(third));
  const double gain = trend.slope.value * (step.back() - step[third]);
  const size_t last = 2 * n / 3;
  const Slope last_third = RobustSlope(step.subspan(last), bytes.subspan(last));
  const bool ending = last_third.high < 0.3 * trend.slope.value;
  if (trend.slope.low > 0 && gain > 0.02 * run.reference_bytes && !ending) {
    trend.growth = Growth::kGrowing;
  } else if (kind == VerdictKind::kWarmupInProgress) {
    trend.growth = Growth::kSlowing;
  } else if (kind == VerdictKind::kWarmupComplete || kind == VerdictKind::kCacheFill ||
             kind == VerdictKind::kSpikeRetained) {
    trend.growth = Growth::kStopped;
  }
  return trend;
}

ProcessVerdict ClassifyProcess(std::span<const SiteFinding> sites, const ProcessSeries& process,
                               const RunContext& run) {
  const double reference = run.reference_bytes;
  std::vector<Candidate> candidates;
  AddSites(sites, reference, candidates);
  AddWorkers(process, reference, candidates);

  ProcessVerdict result;
  std::vector<double> step, beyond_peak, outside, slack;
  double highest_live = 0;
  const bool has_held = process.held.size() == process.step.size();
  for (size_t i = 0; i < process.step.size() && has_held; ++i) {
    highest_live = std::max(highest_live, process.live_peak[i]);
    slack.push_back(process.held[i] - process.live[i]);
    if (process.step[i] < 1) continue;
    step.push_back(process.step[i]);
    beyond_peak.push_back(std::max(process.held[i] - highest_live, 0.0));
    // Below zero, the allocator holds pages that were never touched: touching them is no growth outside it.
    outside.push_back(std::max(process.rss[i] - process.held[i], 0.0));
  }
  if (!step.empty()) {
    const OverheadTrend gap = JudgeOverhead(step, beyond_peak, run);
    const OverheadTrend untraced = JudgeOverhead(step, outside, run);
    result.allocator_gap = gap.growth;
    result.outside_allocator = untraced.growth;
    if (gap.growth == Growth::kGrowing) {
      Verdict verdict = GrowingOverhead(VerdictKind::kFragmentation, gap.slope,
                                        "the allocator holds ever more than was live at once");
      verdict.evidence.slack_bytes = beyond_peak.back();
      candidates.push_back(OfProcess(gap.slope.value, std::move(verdict), beyond_peak.back()));
    }
    if (untraced.growth == Growth::kGrowing) {
      candidates.push_back(OfProcess(untraced.slope.value,
                                     GrowingOverhead(VerdictKind::kUntracedGrowth, untraced.slope,
                                                     "resident memory grows outside the allocator"),
                                     outside.back()));
    }
    const size_t n = slack.size();
    const size_t last = std::min(n, std::max<size_t>(3, n / 10));
    const size_t early_end = std::min(n, std::max<size_t>(4, n / 20));
    const double now = Median(Values(slack).last(last));
    const double early = n > 1 ? Median(Values(slack).subspan(1, early_end - 1)) : now;
    const bool has_risen = now > 0.08 * reference && now > 1.5 * early + 0.02 * reference;
    const bool has_ended = gap.growth == Growth::kStopped || gap.growth == Growth::kSlowing;
    if (has_risen || (has_ended && beyond_peak.back() > kProcessMaterial * reference)) {
      Verdict verdict;
      verdict.kind = VerdictKind::kAllocatorRetention;
      verdict.why = "the allocator keeps the mark of an earlier peak";
      verdict.evidence.slack_bytes = now;
      candidates.push_back(OfProcess(now, std::move(verdict), now));
    }
  }
  Verdict steady;
  steady.kind = VerdictKind::kSteady;
  steady.why = "no site retains anything material, and nothing grows outside the sites";
  for (const SiteFinding& site : sites) {  // a leak must be seen at the site that has it
    const auto& detectable = site.verdict.detectable_bytes_per_step;
    if (detectable && *detectable > steady.detectable_bytes_per_step.value_or(0)) {
      steady.detectable_bytes_per_step = detectable;
    }
  }
  candidates.push_back(OfProcess(0, std::move(steady), 0));
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    const int rank_a = SeverityRank(a.component.kind);
    const int rank_b = SeverityRank(b.component.kind);
    return rank_a != rank_b ? rank_a < rank_b : a.size > b.size;
  });
  result.headline = candidates.front().verdict;
  result.headline_site = candidates.front().component.site;
  for (Candidate& candidate : candidates) {
    if (candidate.component.kind == VerdictKind::kSteady && candidates.size() > 1) continue;
    result.components.push_back(std::move(candidate.component));
  }
  return result;
}

}  // namespace plateau::verdict

#include "analyzer/verdict/process_classifier.h"

#include <algorithm>
#include <utility>

#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {
namespace {

using series::ProcessSeries;
using series::RunContext;

// Components of one rank are ordered by their size.
struct Candidate {
  double size = 0;
  Component component;
  Verdict verdict;
  bool is_refusal = false;  // an all-clear that may not be given
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

// An all-clear that the rules refused stands where the all-clear would: behind everything that was found.
int RankOf(const Candidate& candidate) {
  return candidate.is_refusal ? 2 * SeverityRank(VerdictKind::kSpikeRetained) + 1
                              : 2 * HeadlineRank(candidate.verdict);
}

void AddSites(std::span<const SiteFinding> sites, const ProcessFacts& facts,
              std::vector<Candidate>& candidates) {
  const double reference = facts.reference_bytes;
  const double detectable = DetectableAtSites(sites);
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
      case VerdictKind::kUnboundedGrowth:
        if (GrowsMaterially(site, detectable, facts)) candidates.push_back(OfSite(rate, i, site));
        break;
      case VerdictKind::kInconclusive: {
        const bool grows = GrowsMaterially(site, detectable, facts);
        if (!grows && !material) break;
        Candidate candidate = OfSite(site.retained_bytes, i, site);
        if (grows && !candidate.verdict.rate_bytes_per_step) {
          candidate.verdict.rate_bytes_per_step = SurestGrowth(site);
          candidate.component.rate_bytes_per_step = SurestGrowth(site);
        }
        candidates.push_back(std::move(candidate));
        break;
      }
      case VerdictKind::kWarmupInProgress:
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

void AddWorkers(const MeasuredProcess& measured, std::vector<Candidate>& candidates) {
  if (measured.worker_growth_bytes <= 0) return;
  Verdict verdict;
  verdict.kind = VerdictKind::kWorkerDuplication;
  verdict.why = "private memory of forked workers grows, and what they allocate themselves does not";
  verdict.evidence.worker_private_growth_bytes = measured.worker_growth_bytes;
  verdict.evidence.worker_heap_growth_bytes = measured.worker_heap_growth_bytes;
  verdict.evidence.worker_bound_bytes = measured.worker_bound_bytes;
  candidates.push_back(
      OfProcess(measured.worker_growth_bytes, std::move(verdict), measured.worker_growth_bytes));
}

// Fragmentation, or the line whose blocks hold the heap open.
void AddGap(std::span<const SiteFinding> sites, const ProcessFacts& facts,
            std::vector<Candidate>& candidates) {
  const OverheadFact& gap = facts.gap;
  // What is not there now cannot be what grows: the highest live level has caught up with it.
  const bool is_there = gap.slope.value > 0 && gap.bytes > kProcessMaterial * facts.reference_bytes;
  const bool fragments = gap.growth == Growth::kGrowing && is_there;
  const bool rises =
      facts.gap_rises && gap.slope.value > 0 && gap.bytes > kProcessMaterial * facts.anonymous_peak_bytes;
  if (!fragments && !rises) return;
  Verdict verdict = GrowingOverhead(VerdictKind::kFragmentation, gap.slope,
                                    "the allocator holds more and more beyond what was ever live at once");
  verdict.evidence.slack_bytes = gap.bytes;
  verdict.evidence.sites_growth_bytes_per_step = GrowthOfSites(sites);
  if (fragments) candidates.push_back(OfProcess(gap.slope.value, verdict, gap.bytes));
  const std::optional<size_t> pinning = WhoPinsTheHeap(sites);
  if (!pinning || GrowsWithoutEnd(sites[*pinning].verdict.kind)) return;
  const SiteFinding& site = sites[*pinning];
  // A pass over the data that will end, and with it the growth of a cache, is waited for.
  if (site.verdict.reason == Reason::kFirstPass || site.verdict.reason == Reason::kEpochUnknown) return;
  verdict.kind = VerdictKind::kUnboundedGrowth;
  verdict.why = "blocks that stay hold the heap open, and the holes around them grow";
  verdict.evidence.retained_bytes = site.kept_in_steps_bytes;
  verdict.evidence.maturity_steps = site.verdict.evidence.maturity_steps;
  Candidate candidate = OfProcess(gap.slope.value, std::move(verdict), gap.bytes);
  candidate.component.site = pinning;
  candidates.push_back(std::move(candidate));
}

// What the rules of honesty leave of an all-clear.
Verdict AllClearOf(std::span<const SiteFinding> sites, const ProcessFacts& facts) {
  AllClear all_clear = JudgeAllClear(sites, facts);
  if (all_clear.instead) return *std::move(all_clear.instead);
  Verdict steady;
  steady.kind = VerdictKind::kSteady;
  steady.why = "no line keeps an amount that matters, and nothing grows outside of them";
  if (all_clear.detectable_bytes_per_step > 0)
    steady.detectable_bytes_per_step = all_clear.detectable_bytes_per_step;
  double kept = 0;
  for (const SiteFinding& site : sites) {
    if (RemainsKept(site.verdict.kind)) kept += site.retained_bytes;
  }
  if (kept >= kWorthNamingBytes) steady.evidence.retained_bytes = kept;
  double undecided = 0;
  for (const SiteFinding& site : sites) {
    if (site.verdict.kind == VerdictKind::kInconclusive && site.growth_bytes_per_step.value > 0)
      undecided += site.growth_bytes_per_step.value;
  }
  if (undecided > 0) steady.evidence.sites_growth_bytes_per_step = undecided;
  return steady;
}

}  // namespace

bool RemainsKept(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kSteady:
    case VerdictKind::kSpikeRecovered:
    case VerdictKind::kAllocatorRetention:
      return false;
    default:
      return true;
  }
}

double RetainedBytes(const series::SiteSeries& site, const Verdict& verdict) {
  // What turns over at a level is kept as a whole, though each object dies, and so is what is replaced.
  if ((verdict.kind == VerdictKind::kWarmupComplete && verdict.evidence.mean_life_steps) ||
      verdict.evidence.replaced_bytes)
    return verdict.evidence.retained_bytes.value_or(0);
  // Nothing is old enough to count, and yet the level reaches new highs.
  if (verdict.reason == Reason::kNothingOldEnough && verdict.evidence.live_bytes)
    return std::max(0.0, *verdict.evidence.live_bytes);
  const int64_t horizon =
      std::max<int64_t>(1, static_cast<int64_t>(verdict.evidence.maturity_steps.value_or(1)));
  const int64_t mature = std::max<int64_t>(1, site.buckets() - horizon);
  if (site.buckets() < 1) return 0;
  return Sum(Values(site.surv_bytes).subspan(1, std::min(mature, site.buckets())));
}

namespace {

// Of the mature steps, without the first `skipped_thirds` thirds of them.
Estimate RetentionPerStep(const series::SiteSeries& site, const Verdict& verdict, int64_t skipped_thirds) {
  const int64_t horizon = static_cast<int64_t>(verdict.evidence.maturity_steps.value_or(1));
  const int64_t mature =
      std::clamp<int64_t>(site.buckets() - horizon, 0, std::max<int64_t>(0, site.buckets()));
  if (mature < 2) return {0, std::nullopt};
  const size_t begin = static_cast<size_t>(1 + skipped_thirds * mature / 3);
  const size_t length = static_cast<size_t>(mature) + 1 - begin;
  double variance = 0;
  if (!site.surv_variance.empty()) {
    variance =
        Sum(Values(site.surv_variance).subspan(begin, length)) / (static_cast<double>(length) * length);
  }
  const MeanInterval rate =
      BatchInterval(Values(site.surv_bytes).subspan(begin, length), kRateBatches, variance);
  return {rate.mean, Interval{rate.low, rate.high}};
}

}  // namespace

Estimate RecentRetention(const series::SiteSeries& site, const Verdict& verdict) {
  return RetentionPerStep(site, verdict, 2);
}

SiteFinding FindingOf(const series::SiteSeries& site, Verdict verdict, Estimate growth_bytes_per_step) {
  SiteFinding finding;
  finding.retained_bytes = RetainedBytes(site, verdict);
  finding.growth_bytes_per_step = growth_bytes_per_step;
  finding.growth_over_run_bytes_per_step = RetentionPerStep(site, verdict, 0);
  if (site.buckets() >= 1) finding.kept_in_steps_bytes = Sum(Values(site.surv_bytes).subspan(1));
  finding.verdict = std::move(verdict);
  return finding;
}

RunContext WithReference(const RunContext& run, const ProcessSeries& process) {
  RunContext with = run;
  const double seen = process.rss.empty() ? 0 : Max(process.rss);
  const bool use_limit = run.limit_bytes.value_or(0) > 0 && run.limit_is_reference;
  with.reference_bytes = use_limit ? *run.limit_bytes : std::max(run.reference_bytes, seen);
  return with;
}

ProcessVerdict DecideHeadline(std::span<const SiteFinding> sites, const MeasuredProcess& measured) {
  const ProcessFacts& facts = measured.facts;
  ProcessVerdict result;
  result.allocator_gap = facts.gap.growth;
  result.outside_allocator = facts.outside.growth;
  result.resident = facts.resident.slope;

  std::vector<Candidate> candidates;
  AddSites(sites, facts, candidates);
  AddWorkers(measured, candidates);
  AddGap(sites, facts, candidates);
  // Files come into memory in jumps: what is not sure to within a factor of ten is no growth outside the heap.
  if (facts.outside.growth == Growth::kGrowing &&
      facts.outside.slope.low > kSureShare * facts.outside.slope.value) {
    candidates.push_back(OfProcess(facts.outside.slope.value,
                                   GrowingOverhead(VerdictKind::kUntracedGrowth, facts.outside.slope,
                                                   "resident memory grows outside the allocator"),
                                   facts.outside.bytes));
  } else if (auto unexplained =
                 JudgeUnexplained(facts.unexplained, DetectableAtSites(sites), facts.reference_bytes)) {
    candidates.push_back(
        OfProcess(facts.unexplained.slope.value, *std::move(unexplained), facts.unexplained.rise));
  }
  if (measured.keeps_old_peak) {
    Verdict verdict;
    verdict.kind = VerdictKind::kAllocatorRetention;
    verdict.why = "the allocator still holds memory of an earlier peak";
    verdict.evidence.slack_bytes = measured.slack_bytes;
    candidates.push_back(OfProcess(measured.slack_bytes, std::move(verdict), measured.slack_bytes));
  }
  Verdict all_clear = AllClearOf(sites, facts);
  const bool is_refused = all_clear.kind == VerdictKind::kInconclusive;
  const double detectable = all_clear.detectable_bytes_per_step.value_or(0);
  candidates.push_back(OfProcess(0, std::move(all_clear), 0));
  candidates.back().is_refusal = is_refused;
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    const int rank_a = RankOf(a);
    const int rank_b = RankOf(b);
    return rank_a != rank_b ? rank_a < rank_b : a.size > b.size;
  });
  if (!is_refused && candidates.front().verdict.detectable_bytes_per_step)
    candidates.front().verdict.detectable_bytes_per_step =
        detectable;  // of the process, not of the best site
  result.headline = candidates.front().verdict;
  result.headline_site = candidates.front().component.site;
  for (Candidate& candidate : candidates) {
    const bool says_nothing = candidate.component.kind == VerdictKind::kSteady || candidate.is_refusal;
    if (says_nothing && candidates.size() > 1 && &candidate != &candidates.front()) continue;
    result.components.push_back(std::move(candidate.component));
  }
  return result;
}

ProcessVerdict ClassifyProcess(std::span<const SiteFinding> sites, const ProcessSeries& process,
                               const RunContext& run, std::vector<std::string> not_covered) {
  MeasuredProcess measured = MeasureProcess(process, run);
  measured.facts.not_covered = std::move(not_covered);
  return DecideHeadline(sites, measured);
}

}  // namespace plateau::verdict

#include "analyzer/verdict/analysis.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/verdict/sentence.h"
#include "analyzer/verdict/site_classifier.h"
#include "analyzer/verdict/statistics.h"
#include "analyzer/verdict/time_story.h"

namespace plateau::verdict {
namespace {

using series::LedgerParts;
using series::LedgerSample;
using series::ProcessSeries;
using series::RunContext;
using series::SiteSeries;

constexpr const char* kHost = "host";

// A kind of memory with the series it is judged by and the run as its sites see it.
struct PoolContext {
  std::string name;
  ProcessSeries series;
  RunContext run;             // in steps, with the reference of this pool
  RunContext run_in_buckets;  // the same for the sites' series
  std::vector<SiteFinding> findings;
  std::vector<size_t> sites;  // their indices in the input
};

ProcessSeries SeriesOf(const PoolCurve& curve) {
  ProcessSeries series;
  series.step = curve.step;
  series.live = curve.live;
  series.live_peak = curve.live_peak.size() == curve.live.size() ? curve.live_peak : curve.live;
  series.held = curve.reserved.size() == curve.live.size() ? curve.reserved : curve.live;
  series.rss = series.held;
  return series;
}

// Peak of all live bytes, for a run without a ledger.
double PeakOfSites(const AnalysisInput& input) {
  std::vector<double> total;
  SiteSeries site;
  for (size_t i = 0; i < input.sites->site_count(); ++i) {
    input.sites->Load(i, &site);
    double live = 0;
    if (total.size() < site.alloc_bytes.size()) total.resize(site.alloc_bytes.size());
    for (size_t k = 0; k < site.alloc_bytes.size(); ++k)
      total[k] += live += site.alloc_bytes[k] - site.free_bytes[k];
  }
  return total.empty() ? 0 : Max(total);
}

// The samples up to the last step. What is read while the program ends shows everything freed, and says
// nothing about the run: such readings come after the last step, or carry its number with far fewer live
// bytes than before.
std::vector<LedgerSample> WithoutTeardown(std::vector<LedgerSample> ledger, double last_step) {
  while (!ledger.empty() && ledger.back().step > last_step) ledger.pop_back();
  const auto live = [](const LedgerSample& sample) { return sample.live + sample.mapped_live; };
  while (ledger.size() > 4 && ledger.back().step >= last_step &&
         live(ledger.back()) < 0.75 * live(ledger[ledger.size() - 2])) {
    ledger.pop_back();
  }
  return ledger;
}

std::vector<PoolContext> MakePools(const AnalysisInput& input) {
  std::vector<PoolContext> pools(1);
  pools[0].name = kHost;
  pools[0].series =
      series::ToProcessSeries(WithoutTeardown(input.ledger, static_cast<double>(input.run.steps)));
  pools[0].series.workers = input.workers;
  RunContext run = input.run;
  run.limit_is_reference = false;
  pools[0].run = WithReference(run, pools[0].series);
  if (pools[0].run.reference_bytes <= 0 && input.sites != nullptr) {
    pools[0].run.reference_bytes = PeakOfSites(input);
  }
  if (!pools[0].run.level_now_bytes && !pools[0].series.rss.empty()) {
    pools[0].run.level_now_bytes = pools[0].series.rss.back();
  }
  for (const PoolCurve& curve : input.pools) {
    PoolContext pool;
    pool.name = curve.name;
    pool.series = SeriesOf(curve);
    pool.run = run;
    pool.run.limit_bytes.reset();
    if (curve.limit_bytes > 0) pool.run.limit_bytes = curve.limit_bytes;
    pool.run.reference_bytes = 0;
    pool.run = WithReference(pool.run, pool.series);
    if (!curve.live.empty()) pool.run.level_now_bytes = pool.series.held.back();
    pools.push_back(std::move(pool));
  }
  for (PoolContext& pool : pools) pool.run_in_buckets = pool.run.InBuckets(input.site_bucket_steps);
  return pools;
}

// What a site keeps per step lately, whatever its verdict.
Estimate RecentRetention(const SiteSeries& site, const Verdict& verdict_in_buckets) {
  const int64_t horizon = static_cast<int64_t>(verdict_in_buckets.evidence.maturity_steps.value_or(1));
  const int64_t mature =
      std::clamp<int64_t>(site.buckets() - horizon, 0, std::max<int64_t>(0, site.buckets()));
  if (mature < 2) return {0, std::nullopt};
  const size_t begin = static_cast<size_t>(1 + 2 * mature / 3);
  const size_t length = static_cast<size_t>(mature) + 1 - begin;
  double variance = 0;
  if (!site.surv_variance.empty()) {
    variance =
        Sum(Values(site.surv_variance).subspan(begin, length)) / (static_cast<double>(length) * length);
  }
  const MeanInterval rate = BatchInterval(Values(site.surv_bytes).subspan(begin, length), 12, variance);
  return {rate.mean, Interval{rate.low, rate.high}};
}

void JudgeEach(const AnalysisInput& input, std::vector<PoolContext>& pools,
               std::vector<SiteAnalysis>& sites) {
  if (input.sites == nullptr) return;
  std::map<std::string, size_t> pool_of_name;
  for (size_t p = 0; p < pools.size(); ++p) pool_of_name.emplace(pools[p].name, p);
  const double width = static_cast<double>(input.site_bucket_steps);
  const size_t count = input.sites->site_count();
  sites.resize(count);
  SiteSeries site;
  for (size_t i = 0; i < count; ++i) {
    size_t p = 0;
    if (i < input.site_info.size()) {
      const auto found = pool_of_name.find(input.site_info[i].pool);
      if (found != pool_of_name.end()) p = found->second;
    }
    PoolContext& pool = pools[p];
    input.sites->Load(i, &site);
    SiteAnalysis& out = sites[i];
    Verdict in_buckets = ClassifySite(site, pool.run_in_buckets);
    out.retained_bytes = RetainedBytes(site, in_buckets);
    out.growth_bytes_per_step = RecentRetention(site, in_buckets);
    out.growth_bytes_per_step.value /= width;
    if (auto& interval = out.growth_bytes_per_step.interval) {
      interval->low /= width;
      interval->high /= width;
    }
    out.verdict = FromBuckets(std::move(in_buckets), width);
    if (out.verdict.rate_bytes_per_step) out.growth_bytes_per_step = *out.verdict.rate_bytes_per_step;
    Explain(pool.run, &out.verdict);
    pool.findings.push_back({out.verdict, out.retained_bytes});
    if (pool.run.unit == series::StepUnit::kTimeSlice) {
      out.verdict = WithoutSteps(pool.run, out.verdict);
      out.growth_bytes_per_step = {};
    }
    pool.sites.push_back(i);
  }
}

CurveTrend TrendOf(Values step, Values bytes, const RunContext& run) {
  CurveTrend trend;
  if (step.size() < 4) return trend;
  const OverheadTrend overhead = JudgeOverhead(step, bytes, run);
  trend.known = true;
  trend.growth = overhead.growth;
  trend.rate_bytes_per_step = overhead.slope.value;
  const size_t edge = std::max<size_t>(1, step.size() / 20);
  trend.rise_bytes = Median(bytes.last(edge)) - Median(bytes.first(edge));
  return trend;
}

// Trends of the parts of the ledger, each from the last sample of a step.
void AddLedgerTrends(const std::vector<LedgerParts>& ledger, const RunContext& run,
                     EvidenceBundle& evidence) {
  std::vector<double> step;
  std::vector<LedgerParts> last;
  for (const LedgerParts& parts : ledger) {
    if (parts.step < 1) continue;
    if (!step.empty() && step.back() == parts.step) {
      last.back() = parts;
    } else {
      step.push_back(parts.step);
      last.push_back(parts);
    }
  }
  const auto trend = [&](double LedgerParts::*part) {
    std::vector<double> bytes;
    for (const LedgerParts& parts : last) bytes.push_back(parts.*part);
    return TrendOf(step, bytes, run);
  };
  evidence.live = trend(&LedgerParts::live);
  evidence.gap = trend(&LedgerParts::allocator_gap);
  evidence.file = trend(&LedgerParts::file);
  evidence.shared = trend(&LedgerParts::shared);
  evidence.own = trend(&LedgerParts::own);
  evidence.unexplained = trend(&LedgerParts::unexplained);
}

// Growth outside the allocator is files, shared memory, or neither; the largest part names it.
std::string UntracedKind(const EvidenceBundle& evidence) {
  if (!evidence.file.known) return "";
  const double file = evidence.file.rate_bytes_per_step;
  const double shared = evidence.shared.rate_bytes_per_step;
  const double rest = evidence.unexplained.rate_bytes_per_step;
  if (file >= shared && file >= rest) return "file";
  return shared >= rest ? "shared" : "anonymous";
}

PoolAnalysis SummarisePool(const PoolContext& pool, const Verdict& verdict) {
  PoolAnalysis out;
  out.name = pool.name;
  out.verdict = verdict;
  if (pool.series.step.empty()) return out;
  out.live_bytes = pool.series.live.back();
  out.peak_bytes = Max(pool.series.live_peak);
  out.reserved_bytes = pool.series.held.back();
  const size_t half = pool.series.step.size() / 2;
  const Slope slope =
      RobustSlope(Values(pool.series.step).subspan(half), Values(pool.series.live).subspan(half));
  out.growth_bytes_per_step.value = slope.value;
  if (pool.series.step.size() - half >= 4)
    out.growth_bytes_per_step.interval = Interval{slope.low, slope.high};
  return out;
}

EvidenceBundle GatherEvidence(const AnalysisInput& input, const std::vector<PoolContext>& pools,
                              const Analysis& analysis) {
  EvidenceBundle evidence;
  evidence.run = pools[0].run;
  evidence.has_python = input.has_python;
  evidence.ledger = WithoutTeardown(input.ledger, static_cast<double>(input.run.steps));
  evidence.pools = input.pools;
  evidence.workers = input.workers;
  evidence.processes = input.processes;
  for (const series::CopiedBytes& copied : input.copy_on_write.sites) {
    if (copied.site < analysis.sites.size()) evidence.copied.push_back(copied);
  }
  AddLedgerTrends(series::Decompose(evidence.ledger), pools[0].run, evidence);
  for (size_t i = 0; i < analysis.sites.size(); ++i) {
    SiteEvidence site;
    if (i < input.site_info.size()) site.info = input.site_info[i];
    if (i < input.site_traits.size()) site.traits = input.site_traits[i];
    site.verdict = analysis.sites[i].verdict;
    site.retained_bytes = analysis.sites[i].retained_bytes;
    site.held_bytes = i < input.site_traits.size() ? site.traits.retained_bytes : site.retained_bytes;
    site.peak_bytes = site.traits.peak_bytes;
    evidence.sites.push_back(std::move(site));
  }
  return evidence;
}

// Joins the pools' verdicts: the most severe is the headline, the host's among equals.
ProcessVerdict Join(std::vector<ProcessVerdict> verdicts, const std::vector<PoolContext>& pools) {
  ProcessVerdict joined;
  size_t worst = 0;
  for (size_t p = 0; p < verdicts.size(); ++p) {
    for (Component& component : verdicts[p].components) {
      if (component.site) component.site = pools[p].sites[*component.site];
      component.pool = pools[p].name;
      joined.components.push_back(component);
    }
    if (verdicts[p].headline_site) verdicts[p].headline_site = pools[p].sites[*verdicts[p].headline_site];
    if (SeverityRank(verdicts[p].headline.kind) < SeverityRank(verdicts[worst].headline.kind)) worst = p;
  }
  joined.headline = verdicts[worst].headline;
  joined.headline_site = verdicts[worst].headline_site;
  joined.allocator_gap = verdicts[0].allocator_gap;
  joined.outside_allocator = verdicts[0].outside_allocator;
  std::stable_sort(
      joined.components.begin(), joined.components.end(),
      [](const Component& a, const Component& b) { return SeverityRank(a.kind) < SeverityRank(b.kind); });
  if (joined.components.size() > 1) {
    std::erase_if(joined.components, [](const Component& c) { return c.kind == VerdictKind::kSteady; });
  }
  return joined;
}

}  // namespace

struct JudgedSites {
  std::vector<PoolContext> pools;
  std::vector<SiteAnalysis> sites;
};

std::shared_ptr<JudgedSites> JudgeSites(const AnalysisInput& input) {
  auto judged = std::make_shared<JudgedSites>();
  judged->pools = MakePools(input);
  JudgeEach(input, judged->pools, judged->sites);
  return judged;
}

Analysis RunAnalysis(const AnalysisInput& input) { return RunAnalysis(input, JudgeSites(input)); }

Analysis RunAnalysis(const AnalysisInput& input, std::shared_ptr<JudgedSites> judged) {
  Analysis analysis;
  analysis.ledger = series::Decompose(input.ledger);
  std::vector<PoolContext>& pools = judged->pools;
  analysis.sites = std::move(judged->sites);
  analysis.evidence = GatherEvidence(input, pools, analysis);

  std::vector<ProcessVerdict> verdicts;
  for (PoolContext& pool : pools) {
    ProcessVerdict verdict = ClassifyProcess(pool.findings, pool.series, pool.run);
    if (verdict.headline.kind == VerdictKind::kUntracedGrowth) {
      verdict.headline.evidence.untraced_kind = UntracedKind(analysis.evidence);
    }
    if (verdict.headline.kind == VerdictKind::kWorkerDuplication && !analysis.evidence.copied.empty()) {
      const series::CopiedBytes& most = analysis.evidence.copied.front();
      verdict.headline.evidence.copied_site = analysis.evidence.sites[most.site].info.name;
      verdict.headline.evidence.copied_site_bytes =
          std::min(most.bytes, verdict.headline.evidence.worker_private_growth_bytes.value_or(0));
    }
    Explain(pool.run, &verdict.headline);
    if (pool.run.unit == series::StepUnit::kTimeSlice) {
      verdict.headline = WithoutSteps(pool.run, verdict.headline);
      verdict.components.clear();
      verdict.components.push_back({.kind = verdict.headline.kind});
    }
    analysis.pools.push_back(SummarisePool(pool, verdict.headline));
    verdicts.push_back(std::move(verdict));
  }
  analysis.process = Join(std::move(verdicts), pools);
  if (analysis.process.headline.kind == VerdictKind::kWorkerDuplication &&
      !analysis.evidence.copied.empty()) {
    analysis.process.headline_site = analysis.evidence.copied.front().site;
  }
  analysis.evidence.process = analysis.process;
  analysis.hypotheses = TestHypotheses(analysis.evidence);
  analysis.patterns = MatchPatterns(analysis.evidence);
  return analysis;
}

size_t HeadlineProcess(const std::vector<ProcessWeight>& processes) {
  constexpr double kNotSmall = 0.1;  // of the largest process
  bool is_training = false;
  double largest = 0;
  for (const ProcessWeight& p : processes) {
    is_training |= p.steps > 0;
    largest = std::max(largest, p.peak_bytes);
  }
  const auto counts = [&](const ProcessWeight& p) {
    const bool is_large = p.peak_bytes >= kNotSmall * largest;
    if (p.steps > 0 && !p.is_worker) return true;
    if (!is_training) return is_large;
    const VerdictKind kind = p.verdict->headline.kind;
    const bool is_unbounded =
        kind == VerdictKind::kLeak || kind == VerdictKind::kSlowLeak || kind == VerdictKind::kStaircase;
    return p.steps > 0 ? is_unbounded || is_large : is_unbounded && is_large;
  };
  const auto rank = [&](const ProcessWeight& p) {
    return std::tuple(counts(p) ? 0 : 1, SeverityRank(p.verdict->headline.kind), -p.steps, -p.peak_bytes);
  };
  size_t chosen = 0;
  for (size_t i = 1; i < processes.size(); ++i) {
    if (rank(processes[i]) < rank(processes[chosen])) chosen = i;
  }
  return chosen;
}

}  // namespace plateau::verdict

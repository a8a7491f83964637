#include "analyzer/verdict/analysis.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyzer/verdict/method/forecast.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/piling_files.h"
#include "analyzer/verdict/site_judging.h"
#include "analyzer/verdict/time_story.h"
#include "analyzer/verdict/words/sentence.h"

namespace plateau::verdict {
namespace {

using series::LedgerParts;
using series::LedgerSample;
using series::RunContext;

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

// A count piles up when it rises by `least_rise` or more and the last third of the run has its share of the rise. A
// pool that is filled once does not.
CountTrend TrendOfCount(const std::vector<LedgerSample>& ledger, double LedgerSample::*count,
                        double least_rise) {
  std::vector<double> step, value;
  for (const LedgerSample& sample : ledger) {
    if (sample.step < 1 || sample.*count <= 0) continue;
    step.push_back(sample.step);
    value.push_back(sample.*count);
  }
  CountTrend trend;
  if (step.size() < kMinCountSamples) return trend;
  trend.known = true;
  const size_t edge = std::max<size_t>(1, step.size() / 20);
  trend.first = Median(Values(value).first(edge));
  trend.last = Median(Values(value).last(edge));
  const size_t third = step.size() / 3, late = 2 * third;
  const Slope slope = RobustSlope(Values(step).subspan(third), Values(value).subspan(third));
  const Slope last = RobustSlope(Values(step).subspan(late), Values(value).subspan(late));
  trend.rate_per_step = slope.value;
  trend.is_piling_up =
      trend.last - trend.first >= least_rise && slope.low > 0 && last.value > kPileLastThird * slope.value;
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

// Refers to both.
EvidenceBundle GatherEvidence(const AnalysisInput& input, const std::vector<PoolContext>& pools,
                              const Analysis& analysis) {
  EvidenceBundle evidence;
  evidence.run = pools[0].run;
  evidence.has_python = input.has_python;
  evidence.ledger = WithoutTeardown(input.ledger, static_cast<double>(input.run.steps));
  evidence.pools = input.pools;
  evidence.workers = input.workers;
  evidence.processes = input.processes;
  evidence.started_threads = input.started_threads;
  evidence.threads = TrendOfCount(evidence.ledger, &LedgerSample::threads, kPileRise);
  evidence.open_files = TrendOfCount(evidence.ledger, &LedgerSample::open_files, kPileRise);
  evidence.mappings = TrendOfCount(evidence.ledger, &LedgerSample::mappings, kPileRiseMappings);
  for (const series::CopiedBytes& copied : input.copy_on_write.sites) {
    if (copied.site < analysis.sites.size()) evidence.copied.push_back(copied);
  }
  AddLedgerTrends(series::Decompose(evidence.ledger), pools[0].run, evidence);
  static const SiteInfo no_info;
  static const series::SiteTraits no_traits;
  evidence.sites.reserve(analysis.sites.size());
  for (size_t i = 0; i < analysis.sites.size(); ++i) {
    const SiteAnalysis& site = analysis.sites[i];
    const bool has_traits = i < input.site_traits.size();
    const series::SiteTraits& traits = has_traits ? input.site_traits[i] : no_traits;
    evidence.sites.push_back({.info = i < input.site_info.size() ? input.site_info[i] : no_info,
                              .verdict = site.verdict,
                              .traits = traits,
                              .retained_bytes = site.retained_bytes,
                              .held_bytes = has_traits ? traits.retained_bytes : site.retained_bytes,
                              .peak_bytes = traits.peak_bytes,
                              .holding = i < input.holdings.size() ? &input.holdings[i] : nullptr});
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
    if (HeadlineRank(verdicts[p].headline) < HeadlineRank(verdicts[worst].headline)) worst = p;
  }
  joined.headline = verdicts[worst].headline;
  joined.resident = verdicts[0].resident;
  joined.headline_site = verdicts[worst].headline_site;
  joined.allocator_gap = verdicts[0].allocator_gap;
  joined.outside_allocator = verdicts[0].outside_allocator;
  std::stable_sort(joined.components.begin(), joined.components.end(),
                   [](const Component& a, const Component& b) {
                     const auto rank = [](const Component& c) {
                       return HeadlineRank(c.kind, c.rate_bytes_per_step && c.rate_bytes_per_step->value > 0);
                     };
                     return rank(a) < rank(b);
                   });
  if (joined.components.size() > 1) {
    std::erase_if(joined.components, [](const Component& c) { return c.kind == VerdictKind::kSteady; });
  }
  return joined;
}

// An all-clear says which site holds most of what stayed.
void NameLargestKept(const PoolContext& pool, const AnalysisInput& input, Verdict& headline) {
  if (headline.kind != VerdictKind::kSteady || !headline.evidence.retained_bytes) return;
  const SiteFinding* largest = nullptr;
  for (size_t i = 0; i < pool.findings.size(); ++i) {
    const SiteFinding& finding = pool.findings[i];
    if (!RemainsKept(finding.verdict.kind)) continue;
    if (largest != nullptr && finding.retained_bytes <= largest->retained_bytes) continue;
    largest = &finding;
    const size_t site = pool.sites[i];
    headline.evidence.largest_kept = site < input.site_info.size() ? input.site_info[site].name : "";
  }
  std::string verdict(largest == nullptr ? "" : VerdictName(largest->verdict.kind));
  std::replace(verdict.begin(), verdict.end(), '_', ' ');
  if (!headline.evidence.largest_kept.empty()) headline.evidence.largest_kept += " (" + verdict + ")";
}

// An all-clear says which undecided site it stands above.
void NameUndecided(const PoolContext& pool, const AnalysisInput& input, Verdict& headline) {
  const std::optional<size_t> fastest = FastestUndecided(pool.findings);
  if (headline.kind != VerdictKind::kSteady || !fastest) return;
  const size_t site = pool.sites[*fastest];
  if (site >= input.site_info.size()) return;
  headline.evidence.undecided_site = input.site_info[site].name;
  headline.evidence.undecided_bytes_per_step = HighOf(pool.findings[*fastest].growth_bytes_per_step);
}

// The line whose blocks hold the heap open is in the sentence: what it keeps itself is little, and its row is low.
void NamePinningSite(const RunContext& run, const AnalysisInput& input, ProcessVerdict& process) {
  Verdict& headline = process.headline;
  if (headline.kind != VerdictKind::kUnboundedGrowth || !headline.evidence.slack_bytes) return;
  if (!process.headline_site || *process.headline_site >= input.site_info.size()) return;
  headline.evidence.largest_kept = input.site_info[*process.headline_site].name;
  if (run.CountsSteps()) Explain(run, &headline);
}

// Resident memory that no call site and no allocator explains, and threads that pile up: their stacks are it.
void BlameThreads(const EvidenceBundle& evidence, const PoolContext& host, ProcessVerdict& process) {
  Verdict& headline = process.headline;
  const bool is_unexplained =
      headline.kind == VerdictKind::kInconclusive && headline.reason == Reason::kUnexplainedGrowth;
  const bool is_untraced = headline.kind == VerdictKind::kUntracedGrowth &&
                           headline.evidence.untraced_kind == "anonymous" && !process.headline_site;
  if (!is_unexplained && !is_untraced) return;
  if (!evidence.threads.is_piling_up || !host.run.CountsSteps()) return;
  headline.kind = VerdictKind::kUnboundedGrowth;
  headline.reason = Reason::kNone;
  headline.needs_steps.reset();
  headline.evidence.untraced_kind = "threads";
  headline.why = PileText("threads", evidence.threads, /*counts_steps=*/true);
  Component* component = process.components.empty() ? nullptr : &process.components.front();
  if (component != nullptr && !component->site) component->kind = headline.kind;
  if (evidence.started_threads.empty()) return;
  const std::string& starter = evidence.started_threads.front().starter;
  headline.why += ", most of them started at " + starter;
  for (size_t i = 0; i < host.sites.size() && !process.headline_site; ++i) {
    if (evidence.sites[host.sites[i]].info.name == starter) process.headline_site = i;
  }
}

}  // namespace

Analysis RunAnalysis(const AnalysisInput& input) {
  SiteJudging judging(&input);
  judging.Work();
  return RunAnalysis(input, judging.Finish());
}

namespace {

double ShareOfImports(const AnalysisInput& input) {
  double all = input.copy_on_write.without_block, of_imports = 0;
  for (const series::CopiedBytes& copied : input.copy_on_write.sites) {
    all += copied.bytes;
    if (copied.site < input.site_info.size() && input.site_info[copied.site].is_import)
      of_imports += copied.bytes;
  }
  return all > 0 ? of_imports / all : 0;
}

// What importing modules took ends when they are imported, and is no cause of what a process does. Growth that was seen
// in steps counts all the same: a program may load code at each of them.
void LeaveOutImports(const AnalysisInput& input, PoolContext& pool, std::vector<SiteAnalysis>& sites) {
  for (size_t i = 0; i < pool.sites.size(); ++i) {
    const size_t site = pool.sites[i];
    if (site >= input.site_info.size() || !input.site_info[site].is_import) continue;
    SiteFinding& finding = pool.findings[i];
    const bool grows = GrowsWithoutEnd(finding.verdict.kind);
    if (grows && pool.run.CountsSteps()) continue;
    if (grows) {
      Verdict& said = sites[site].verdict;
      said.kind = VerdictKind::kInconclusive;
      said.reason = Reason::kNoSteps;
      said.sentence = "Importing modules took it, which ends when they are imported.";
    }
    finding = {};
    finding.verdict.kind = VerdictKind::kSteady;
  }
}

}  // namespace

Analysis RunAnalysis(const AnalysisInput& input, JudgedSites judged) {
  Analysis analysis;
  if (!judged.pools.empty()) judged.pools[0].series.share_copied_of_imports = ShareOfImports(input);
  analysis.ledger = series::Decompose(input.ledger);
  std::vector<PoolContext>& pools = judged.pools;
  analysis.sites = std::move(judged.sites);
  for (PoolContext& pool : pools) LeaveOutImports(input, pool, analysis.sites);
  EvidenceBundle evidence = GatherEvidence(input, pools, analysis);
  if (!pools.empty()) JudgePilingFiles(evidence, &pools[0], &analysis.sites);

  std::vector<ProcessVerdict> verdicts;
  for (PoolContext& pool : pools) {
    ProcessVerdict verdict = ClassifyProcess(pool.findings, pool.series, pool.run, input.not_covered);
    NameLargestKept(pool, input, verdict.headline);
    NameUndecided(pool, input, verdict.headline);
    if (verdict.headline.kind == VerdictKind::kUntracedGrowth) {
      verdict.headline.evidence.untraced_kind = UntracedKind(evidence);
    }
    if (verdict.headline.kind == VerdictKind::kWorkerDuplication && !evidence.copied.empty()) {
      const series::CopiedBytes& most = evidence.copied.front();
      verdict.headline.evidence.copied_site = evidence.sites[most.site].info.name;
      verdict.headline.evidence.copied_site_bytes =
          std::min(most.bytes, verdict.headline.evidence.worker_private_growth_bytes.value_or(0));
    }
    if (&pool == &pools[0]) BlameThreads(evidence, pool, verdict);
    ForecastHeadline(pool.run, verdict.resident, verdict.headline);
    Explain(pool.run, &verdict.headline);
    if (!pool.run.CountsSteps()) {
      if (verdict.headline_site && *verdict.headline_site < pool.sites.size()) {
        const size_t site = pool.sites[*verdict.headline_site];
        if (site < input.site_info.size())
          verdict.headline.evidence.largest_kept = input.site_info[site].name;
      }
      verdict.headline = WithoutSteps(pool.run, verdict.headline);
      verdict.components.clear();
      verdict.components.push_back({.kind = verdict.headline.kind});
    }
    analysis.pools.push_back(SummarisePool(pool, verdict.headline));
    verdicts.push_back(std::move(verdict));
  }
  analysis.process = Join(std::move(verdicts), pools);
  NamePinningSite(pools[0].run, input, analysis.process);
  if (analysis.process.headline.kind == VerdictKind::kWorkerDuplication && !evidence.copied.empty()) {
    analysis.process.headline_site = evidence.copied.front().site;
  }
  evidence.process = analysis.process;
  analysis.hypotheses = TestHypotheses(evidence);
  analysis.patterns = MatchPatterns(evidence);
  return analysis;
}

double KeptBytes(const ProcessVerdict& verdict) {
  // An all-clear says how much stays: little beside the process, which has a framework in memory.
  if (verdict.headline.kind == VerdictKind::kSteady)
    return verdict.headline.evidence.retained_bytes.value_or(0);
  const bool keeps = RemainsKept(verdict.headline.kind) && !verdict.components.empty();
  return keeps ? verdict.components.front().bytes : 0;
}

double KeptByWorker(const ProcessWeight& process) {
  return process.is_worker && process.steps > 0 ? KeptBytes(*process.verdict) : 0;
}

bool IsWorthNaming(double kept_bytes) { return kept_bytes >= kWorthNamingBytes; }

size_t HeadlineProcess(const std::vector<ProcessWeight>& processes) {
  bool is_training = false;
  double largest = 0, begin = 0, end = 0;
  double kept_by_workers = 0;
  for (const ProcessWeight& p : processes) {
    is_training |= p.steps > 0;
    begin = &p == processes.data() ? p.begin_seconds : std::min(begin, p.begin_seconds);
    end = std::max(end, p.end_seconds);
    kept_by_workers += KeptByWorker(p);
  }
  const auto is_past = [&](const ProcessWeight& p) {
    if (p.was_replaced && p.steps <= 0) return true;
    if (p.steps > 0 || p.end_seconds >= begin + kLivedToTheEnd * (end - begin)) return false;
    return is_training || p.end_seconds - p.begin_seconds < kLivedLong * (end - begin);
  };
  for (const ProcessWeight& p : processes) {
    if (!is_past(p)) largest = std::max(largest, p.peak_bytes);
  }
  const bool workers_keep_much = kept_by_workers > kProcessMaterial * largest;
  const auto counts = [&](const ProcessWeight& p) {
    const bool is_large = p.peak_bytes >= kLargeProcess * largest;
    if (is_past(p)) return false;
    if (p.steps > 0 && !p.is_worker) return true;
    if (!is_training) return is_large;
    const Verdict& headline = p.verdict->headline;
    const bool grows = GrowsWithoutEnd(headline.kind);
    // Of a worker, what may be a leak counts as well: an all-clear above it would be false.
    if (p.steps > 0) {
      const double kept = KeptByWorker(p);
      const bool ends_like_others =
          headline.kind == VerdictKind::kInconclusive && kept * kLikePredecessor <= p.predecessor_kept_bytes;
      if (ends_like_others && p.predecessor_kept_bytes > 0) return false;
      return grows || IsUndecidedGrowth(headline) || is_large || (workers_keep_much && kept > 0);
    }
    return grows && is_large;
  };
  const auto rank = [&](const ProcessWeight& p) {
    return std::tuple(counts(p) ? 0 : 1, HeadlineRank(p.verdict->headline), -p.steps, -p.peak_bytes);
  };
  size_t chosen = 0;
  for (size_t i = 1; i < processes.size(); ++i) {
    if (rank(processes[i]) < rank(processes[chosen])) chosen = i;
  }
  return chosen;
}

}  // namespace plateau::verdict

#include "analyzer/verdict/site_judging.h"

#include <algorithm>
#include <map>
#include <optional>

#include "analyzer/verdict/judge_holding.h"
#include "analyzer/verdict/method/site_classifier.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/reserved_fill.h"
#include "analyzer/verdict/time_story.h"
#include "analyzer/verdict/words/sentence.h"

namespace plateau::verdict {
namespace {

using series::LedgerSample;
using series::ProcessSeries;
using series::RunContext;
using series::SiteSeries;

constexpr const char* kHost = "host";

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

// Of a rate per bucket.
Estimate PerStep(Estimate rate, double width) {
  rate.value /= width;
  if (rate.interval) {
    rate.interval->low /= width;
    rate.interval->high /= width;
  }
  return rate;
}

// What lost frees explain of a site as a whole may be impossible for the few stacks of it that keep everything.
RunContext WithoutLoss(RunContext run) {
  run.lost_rate = 0;
  return run;
}

}  // namespace

SiteJudging::SiteJudging(const AnalysisInput* input) : input_(*input) {
  std::vector<PoolContext>& pools = judged_.pools;
  pools = MakePools(input_);
  if (input_.sites == nullptr) return;
  std::map<std::string, size_t> pool_of_name;
  for (size_t p = 0; p < pools.size(); ++p) pool_of_name.emplace(pools[p].name, p);
  for (size_t site = 0; site < input_.sites->site_count(); ++site) {
    size_t p = 0;
    if (site < input_.site_info.size()) {
      const auto found = pool_of_name.find(input_.site_info[site].pool);
      if (found != pool_of_name.end()) p = found->second;
    }
    places_.push_back({p, pools[p].sites.size()});
    pools[p].sites.push_back(site);
  }
  judged_.sites.resize(places_.size());
  for (PoolContext& pool : pools) pool.findings.resize(pool.sites.size());
}

void SiteJudging::Work() {
  SiteSeries series;
  for (size_t site; (site = next_.fetch_add(1, std::memory_order_relaxed)) < places_.size();) {
    Judge(site, &series);
  }
}

void SiteJudging::Judge(size_t site, SiteSeries* series) {
  const double width = static_cast<double>(input_.site_bucket_steps);
  const Place& place = places_[site];
  PoolContext& pool = judged_.pools[place.pool];
  input_.sites->Load(site, series);
  SiteAnalysis& out = judged_.sites[site];
  const bool has_no_loss = site < input_.keeps_despite_loss.size() && input_.keeps_despite_loss[site];
  Verdict in_buckets = has_no_loss ? ClassifySite(*series, WithoutLoss(pool.run_in_buckets))
                                   : ClassifySite(*series, pool.run_in_buckets);
  SiteFinding finding = FindingOf(*series, in_buckets, {});
  out.retained_bytes = finding.retained_bytes;
  out.growth_bytes_per_step = PerStep(RecentRetention(*series, in_buckets), width);
  out.verdict = FromBuckets(std::move(in_buckets), width);
  if (out.verdict.rate_bytes_per_step) out.growth_bytes_per_step = *out.verdict.rate_bytes_per_step;
  if (site < input_.reservations.size()) {
    JudgeReservedFill(input_.reservations[site], out.growth_bytes_per_step, pool.run, &out.verdict);
  }
  if (site < input_.holdings.size()) {
    JudgeHolding(input_.holdings[site], *series, width, pool.run, &out.verdict, &out.growth_bytes_per_step);
  }
  Explain(pool.run, &out.verdict);
  if (site < input_.hole_bytes.size()) finding.hole_bytes = input_.hole_bytes[site];
  finding.verdict = out.verdict;
  finding.growth_bytes_per_step = out.growth_bytes_per_step;
  finding.growth_over_run_bytes_per_step = PerStep(finding.growth_over_run_bytes_per_step, width);
  pool.findings[place.finding] = std::move(finding);
  if (!pool.run.CountsSteps()) {
    out.verdict = WithoutSteps(pool.run, out.verdict);
    out.growth_bytes_per_step = {};
  }
}

std::vector<LedgerSample> WithoutTeardown(std::vector<LedgerSample> ledger, double last_step) {
  while (!ledger.empty() && (ledger.back().step > last_step || ledger.back().is_of_exit)) ledger.pop_back();
  const auto live = [](const LedgerSample& sample) { return sample.live + sample.mapped_live; };
  while (ledger.size() > 4 && ledger.back().step >= last_step &&
         live(ledger.back()) < 0.75 * live(ledger[ledger.size() - 2])) {
    ledger.pop_back();
  }
  return ledger;
}

}  // namespace plateau::verdict

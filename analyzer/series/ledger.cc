#include "analyzer/series/ledger.h"

#include <algorithm>

namespace plateau::series {

namespace {

// What the allocator holds beyond its live bytes. A reading that could not be taken (0) repeats the one
// before.
double AllocatorGap(const LedgerSample& sample, double gap_before) {
  return sample.allocator_held > 0 ? std::max(0.0, sample.allocator_held - sample.live) : gap_before;
}

LedgerParts DecomposeWith(const LedgerSample& sample, double gap) {
  LedgerParts parts;
  parts.step = sample.step;
  parts.rss = sample.rss();
  parts.live = sample.live + sample.mapped_live;
  parts.allocator_gap = gap;
  parts.file = sample.rss_file;
  parts.shared = sample.rss_shmem;
  parts.own = sample.own;
  parts.unexplained = parts.rss - (parts.live + parts.allocator_gap + parts.file + parts.shared + parts.own);
  return parts;
}

}  // namespace

LedgerParts Decompose(const LedgerSample& sample) { return DecomposeWith(sample, AllocatorGap(sample, 0)); }

std::vector<LedgerParts> Decompose(const std::vector<LedgerSample>& samples) {
  std::vector<LedgerParts> all;
  all.reserve(samples.size());
  double gap = 0;
  for (const LedgerSample& sample : samples)
    all.push_back(DecomposeWith(sample, gap = AllocatorGap(sample, gap)));
  return all;
}

ProcessSeries ToProcessSeries(const std::vector<LedgerSample>& samples) {
  ProcessSeries series;
  double gap = 0;
  for (const LedgerSample& sample : samples) {
    gap = AllocatorGap(sample, gap);
    const double live = sample.live + sample.mapped_live;
    const bool same_step = !series.step.empty() && series.step.back() == sample.step;
    if (!same_step) {
      series.step.push_back(sample.step);
      for (auto* array : {&series.rss, &series.held, &series.live, &series.live_peak}) array->push_back(0);
    }
    series.rss.back() = sample.rss() - sample.own;
    series.held.back() = live + gap;
    series.live.back() = live;
    series.live_peak.back() = std::max({series.live_peak.back(), sample.live_peak, live});
  }
  return series;
}

}  // namespace plateau::series

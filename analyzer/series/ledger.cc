#include "analyzer/series/ledger.h"

#include <algorithm>

namespace plateau::series {

LedgerParts Decompose(const LedgerSample& sample) {
  LedgerParts parts;
  parts.step = sample.step;
  parts.rss = sample.rss();
  parts.live = sample.live + sample.mapped_live;
  parts.allocator_gap = std::max(0.0, sample.allocator_held - sample.live);
  parts.file = sample.rss_file;
  parts.shared = sample.rss_shmem;
  parts.own = sample.own;
  parts.unexplained = parts.rss - (parts.live + parts.allocator_gap + parts.file + parts.shared + parts.own);
  return parts;
}

std::vector<LedgerParts> Decompose(const std::vector<LedgerSample>& samples) {
  std::vector<LedgerParts> all;
  all.reserve(samples.size());
  for (const LedgerSample& sample : samples) all.push_back(Decompose(sample));
  return all;
}

ProcessSeries ToProcessSeries(const std::vector<LedgerSample>& samples) {
  ProcessSeries series;
  for (const LedgerSample& sample : samples) {
    const double live = sample.live + sample.mapped_live;
    const double held = std::max(sample.allocator_held, sample.live) + sample.mapped_live;
    const bool same_step = !series.step.empty() && series.step.back() == sample.step;
    if (!same_step) {
      series.step.push_back(sample.step);
      for (auto* array : {&series.rss, &series.held, &series.live, &series.live_peak}) array->push_back(0);
    }
    series.rss.back() = sample.rss() - sample.own;
    series.held.back() = held;
    series.live.back() = live;
    series.live_peak.back() = std::max({series.live_peak.back(), sample.live_peak, live});
  }
  return series;
}

}  // namespace plateau::series

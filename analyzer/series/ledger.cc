#include "analyzer/series/ledger.h"

#include <algorithm>

namespace plateau::series {

namespace {

// What the allocator holds beyond its live bytes, sample after sample. Asking the allocator is costly on a
// fragmented heap, so many samples come without an answer. Between answers the remainder (stacks, drivers) is
// taken as constant and anonymous growth as the allocator's: memory that others take is traced by its own
// hook, or shows at the next answer.
class GapEstimate {
 public:
  double Next(const LedgerSample& sample) {
    const double beyond_live = sample.rss_anon - sample.own - sample.live - sample.mapped_live;
    if (sample.allocator_held > 0) {
      const double gap = sample.allocator_held - sample.untouched - sample.live + sample.pool_slack;
      remainder_ = beyond_live - gap;
      known_ = true;
      return gap;
    }
    if (!known_) {
      remainder_ = beyond_live;
      known_ = true;
    }
    return beyond_live - remainder_;
  }

 private:
  double remainder_ = 0;
  bool known_ = false;
};

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

LedgerParts Decompose(const LedgerSample& sample) {
  return DecomposeWith(sample, GapEstimate().Next(sample));
}

std::vector<LedgerParts> Decompose(const std::vector<LedgerSample>& samples) {
  std::vector<LedgerParts> all;
  all.reserve(samples.size());
  GapEstimate gap;
  for (const LedgerSample& sample : samples) all.push_back(DecomposeWith(sample, gap.Next(sample)));
  return all;
}

ProcessSeries ToProcessSeries(const std::vector<LedgerSample>& samples) {
  ProcessSeries series;
  GapEstimate gap;
  for (const LedgerSample& sample : samples) {
    const double live = sample.live + sample.mapped_live;
    const bool same_step = !series.step.empty() && series.step.back() == sample.step;
    if (!same_step) {
      series.step.push_back(sample.step);
      for (auto* array : {&series.rss, &series.held, &series.live, &series.live_peak, &series.unexplained}) {
        array->push_back(0);
      }
    }
    series.knows_untouched |= sample.untouched > 0;
    series.rss.back() = sample.rss() - sample.own;
    series.held.back() = live + gap.Next(sample);
    series.unexplained.back() = sample.rss_anon - sample.own - series.held.back();
    series.live.back() = live;
    series.live_peak.back() = std::max({series.live_peak.back(), sample.live_peak, live});
  }
  return series;
}

}  // namespace plateau::series

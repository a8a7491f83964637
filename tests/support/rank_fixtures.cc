#include "absl/strings/str_cat.h"
#include "tests/support/report_fixtures.h"

namespace plateau::report {
namespace {

constexpr int64_t kMiB = 1 << 20;

RankSummary Rank(int rank, int64_t bytes_per_step) {
  RankSummary summary;
  summary.rank = rank;
  summary.pid = 4000 + rank;
  summary.workers = 2;
  summary.group = absl::StrCat("dp=", rank / 4, "/2 tp=", rank % 4, "/4");
  summary.verdict = bytes_per_step > 0 ? "leak" : "steady";
  summary.steps = 420;
  summary.ending = "ended in order";
  summary.peak_rss_bytes = 900 * kMiB;
  for (int step = 0; step <= 420; step += 20) {
    summary.curve.step.push_back(step);
    summary.curve.seconds.push_back(step);
    summary.curve.live_bytes.push_back(200 * kMiB + step * bytes_per_step);
    summary.curve.rss_bytes.push_back(700 * kMiB + step * bytes_per_step);
  }
  return summary;
}

}  // namespace

// Eight ranks, of which one leaks and one was started again.
ReportModel RanksModel() {
  ReportModel model = LeakModel();
  for (int rank = 0; rank < 8; ++rank) model.ranks.push_back(Rank(rank, rank == 3 ? 65536 : 0));
  model.ranks[3].odd = {
      absl::StrCat("grows by 64.0 KiB/step at ", model.verdict.site, "; the median rank by 0 B/step")};
  model.ranks[5].earlier_attempts = 1;
  return model;
}

}  // namespace plateau::report

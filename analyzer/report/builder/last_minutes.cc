#include "analyzer/report/builder/last_minutes.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analyzer/base/human_units.h"
#include "analyzer/report/units.h"

namespace plateau::report {
namespace {

constexpr double kStretchSeconds = 120;
constexpr size_t kMostRows = 5;

// The index of the last entry that is not later than `seconds`.
size_t BucketAt(const std::vector<double>& axis_seconds, double seconds) {
  const auto after = std::upper_bound(axis_seconds.begin(), axis_seconds.end(), seconds);
  return after == axis_seconds.begin() ? 0 : static_cast<size_t>(after - axis_seconds.begin()) - 1;
}

std::vector<LastAsker> MostBy(std::vector<LastAsker> all, int64_t LastAsker::*what) {
  std::stable_sort(all.begin(), all.end(),
                   [what](const LastAsker& a, const LastAsker& b) { return a.*what > b.*what; });
  while (!all.empty() && (all.size() > kMostRows || all.back().*what <= 0)) all.pop_back();
  return all;
}

std::vector<std::string> RefusedIn(const ReportModel& model) {
  std::vector<std::string> out;
  for (const OutOfMemory& refusal : model.out_of_memory) {
    if (out.size() == kMostRows) break;
    out.push_back(absl::StrCat(FormatBytes(static_cast<double>(refusal.requested_bytes)), " on device ",
                               refusal.device, " at step ", HumanStep(refusal.step),
                               refusal.site.empty() ? "" : " in ", refusal.site));
  }
  return out;
}

}  // namespace

bool WasKilled(std::string_view ending) {
  const absl::string_view text(ending.data(), ending.size());
  return absl::StartsWith(text, "signal 9") || absl::StartsWith(text, "exit 137") ||
         absl::StrContains(text, "out of memory");
}

LastMinutes LastMinutesOf(const ReportModel& model) {
  LastMinutes out;
  if (!WasKilled(model.recording.ending) || model.ledger.size() < 2) return out;
  const LedgerReading& last = model.ledger.back();
  const double length = last.time_seconds - model.ledger.front().time_seconds;
  const double from =
      std::max(last.time_seconds - std::min(kStretchSeconds, length / 4), model.ledger.front().time_seconds);
  const LedgerReading* first = &last;
  for (const LedgerReading& reading : model.ledger) {
    if (reading.time_seconds > from) break;
    first = &reading;
  }
  out.from_seconds = first->time_seconds;
  out.to_seconds = last.time_seconds;
  out.from_step = first->step;
  out.to_step = last.step;
  out.rss_from_bytes = first->rss_bytes;
  out.rss_to_bytes = last.rss_bytes;
  out.is_out_of_memory = absl::StrContains(model.recording.ending, "out of memory");

  std::vector<LastAsker> askers;
  const size_t bucket = BucketAt(model.axis_seconds, out.from_seconds);
  for (const Site& site : model.sites) {
    if (site.live_bytes.empty()) continue;
    const int64_t now = site.live_bytes.back();
    const int64_t before = bucket < site.live_bytes.size() ? site.live_bytes[bucket] : now;
    askers.push_back({site.site, now - before, now});
  }
  out.asked = MostBy(askers, &LastAsker::grown_bytes);
  out.largest = MostBy(std::move(askers), &LastAsker::retained_bytes);
  out.refused = RefusedIn(model);

  out.sentence =
      absl::StrCat("in the last ", FormatDuration(out.to_seconds - out.from_seconds),
                   " resident memory went from ", FormatBytes(static_cast<double>(out.rss_from_bytes)),
                   " to ", FormatBytes(static_cast<double>(out.rss_to_bytes)));
  if (!out.asked.empty()) {
    absl::StrAppend(&out.sentence, "; ", out.asked.front().site, " asked for most of it (",
                    FormatBytes(static_cast<double>(out.asked.front().grown_bytes)), ")");
  }
  if (!out.largest.empty()) {
    absl::StrAppend(&out.sentence, "; the largest was ", out.largest.front().site, " with ",
                    FormatBytes(static_cast<double>(out.largest.front().retained_bytes)));
  }
  if (!out.refused.empty()) absl::StrAppend(&out.sentence, "; refused: ", out.refused.front());
  return out;
}

}  // namespace plateau::report

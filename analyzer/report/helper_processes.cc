#include "analyzer/report/helper_processes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/base/human_units.h"

namespace plateau::report {
namespace {

constexpr size_t kAllShown = 8;        // so many processes fit on any screen
constexpr size_t kNamedPrograms = 4;   // of the helpers; the others are counted
constexpr double kShareOfRun = 0.05;   // a longer life is part of the job
constexpr double kShareOfSize = 0.1;   // of the largest process
constexpr double kShareOfKept = 0.01;  // of what the largest process retains
constexpr size_t kCrowd = 32;          // among so many, what is small in any program is no matter
constexpr int64_t kSmallSize = 16 << 20;
constexpr int64_t kSmallKept = 1 << 20;

bool IsHelper(const Process& p, double run_seconds, int64_t largest_rss, int64_t most_retained,
              bool is_crowd) {
  const bool is_small = is_crowd && p.peak_rss_bytes < kSmallSize && p.retained_bytes < kSmallKept;
  return !p.rank.has_value() && p.growth_bytes_per_step == 0 &&
         p.end_seconds - p.start_seconds < kShareOfRun * run_seconds &&
         (is_small ||
          (static_cast<double>(p.peak_rss_bytes) < kShareOfSize * static_cast<double>(largest_rss) &&
           static_cast<double>(p.retained_bytes) <= kShareOfKept * static_cast<double>(most_retained)));
}

// "cc1plus 301, ld 296, git 15 and 3 others".
std::string Programs(const std::map<std::string, size_t>& counts) {
  std::vector<std::pair<size_t, std::string>> order;
  for (const auto& [name, count] : counts) order.emplace_back(count, name);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  size_t others = 0;
  for (const auto& [count, name] : order) {
    if (words.size() < kNamedPrograms) {
      words.push_back(absl::StrCat(name, " ", count));
    } else {
      others += count;
    }
  }
  return absl::StrCat(absl::StrJoin(words, ", "), others > 0 ? absl::StrCat(" and ", others, " others") : "");
}

}  // namespace

HelperProcesses FindHelpers(const ReportModel& model) {
  HelperProcesses out;
  out.is_helper.assign(model.processes.size(), false);
  if (model.processes.size() <= kAllShown) return out;
  double run_seconds = 0;
  int64_t largest_rss = 0, most_retained = 0;
  for (const Process& p : model.processes) {
    run_seconds = std::max(run_seconds, p.end_seconds);
    largest_rss = std::max(largest_rss, p.peak_rss_bytes);
    most_retained = std::max(most_retained, p.retained_bytes);
  }
  std::map<std::string, size_t> programs;
  size_t helpers = 0;
  int64_t largest_helper = 0;
  for (size_t i = 0; i < model.processes.size(); ++i) {
    const Process& p = model.processes[i];
    if (!IsHelper(p, run_seconds, largest_rss, most_retained, model.processes.size() > kCrowd)) continue;
    out.is_helper[i] = true;
    ++helpers;
    ++programs[p.exe.substr(p.exe.rfind('/') + 1)];
    largest_helper = std::max(largest_helper, p.peak_rss_bytes);
  }
  if (helpers > 0) {
    out.sentence = absl::StrCat(helpers, helpers == 1 ? " helper" : " helpers", " came and went (",
                                Programs(programs), "), none above ", FormatBytes(largest_helper), ".");
  }
  return out;
}

}  // namespace plateau::report

#include "analyzer/report/builder/rank_words.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::report {
namespace {

constexpr size_t kNamedRanks = 4;  // of one verdict; more are counted

int RankOfVerdict(const std::string& name) {
  const auto kind = verdict::ParseVerdict(name);
  return kind ? verdict::SeverityRank(*kind) : 0;
}

// One entry for each rank, its last attempt, in the order of ranks; `restarts` counts the attempts before.
std::vector<RankFacts> LastAttempts(std::vector<RankFacts> processes, size_t* restarts) {
  std::stable_sort(processes.begin(), processes.end(), [](const RankFacts& a, const RankFacts& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.start_seconds < b.start_seconds;
  });
  std::vector<RankFacts> ranks;
  for (RankFacts& process : processes) {
    if (!ranks.empty() && ranks.back().rank == process.rank) {
      ranks.back() = std::move(process);
      ++*restarts;
    } else {
      ranks.push_back(std::move(process));
    }
  }
  return ranks;
}

// "rank 3", "ranks 1, 2 and 5", "9 ranks".
std::string Names(const std::vector<RankFacts>& ranks) {
  if (ranks.size() == 1) return absl::StrCat("rank ", ranks[0].rank);
  if (ranks.size() > kNamedRanks) return absl::StrCat(ranks.size(), " ranks");
  std::vector<std::string> numbers;
  for (const RankFacts& rank : ranks) numbers.push_back(absl::StrCat(rank.rank));
  const std::string last = numbers.back();
  numbers.pop_back();
  return absl::StrCat("ranks ", absl::StrJoin(numbers, ", "), " and ", last);
}

// " (64.0 KiB/step at data.py:57 in collate)": what made the verdict, where all of them name one line.
std::string Cause(const std::vector<RankFacts>& ranks) {
  const std::string group =
      ranks.size() == 1 && !ranks[0].group.empty() ? absl::StrCat(", ", ranks[0].group) : std::string();
  const bool is_one_line =
      std::all_of(ranks.begin(), ranks.end(), [&](const RankFacts& r) { return r.site == ranks[0].site; });
  if (!is_one_line || ranks[0].site.empty()) return "";
  const auto [low, high] = std::minmax_element(
      ranks.begin(), ranks.end(),
      [](const RankFacts& a, const RankFacts& b) { return a.rate_bytes_per_step < b.rate_bytes_per_step; });
  if (low->rate_bytes_per_step <= 0) return absl::StrCat(" (", ranks[0].site, group, ")");
  const std::string rate = ranks.size() == 1 ? HumanRate(low->rate_bytes_per_step)
                                             : absl::StrCat(HumanRate(low->rate_bytes_per_step), " to ",
                                                            HumanRate(high->rate_bytes_per_step));
  return absl::StrCat(" (", rate, " at ", ranks[0].site, group, ")");
}

}  // namespace

std::string RanksInWords(std::vector<RankFacts> processes) {
  size_t restarts = 0;
  const std::vector<RankFacts> ranks = LastAttempts(std::move(processes), &restarts);
  if (ranks.size() < 2) return "";
  std::map<std::string, std::vector<RankFacts>> by_verdict;
  for (const RankFacts& rank : ranks) by_verdict[rank.verdict].push_back(rank);
  std::vector<const std::vector<RankFacts>*> groups;
  for (const auto& [name, members] : by_verdict) groups.push_back(&members);
  // The worst verdict first, the largest group last.
  std::stable_sort(groups.begin(), groups.end(), [](const auto* a, const auto* b) {
    return RankOfVerdict(a->front().verdict) < RankOfVerdict(b->front().verdict);
  });
  const auto largest = std::max_element(groups.begin(), groups.end(),
                                        [](const auto* a, const auto* b) { return a->size() < b->size(); });
  std::rotate(largest, largest + 1, groups.end());

  std::vector<std::string> parts;
  for (const auto* members : groups) {
    const bool is_rest = groups.size() > 1 && members == groups.back() && members->size() > 1;
    const std::string verdict = absl::StrReplaceAll(members->front().verdict, {{"_", " "}});
    parts.push_back(groups.size() == 1 ? absl::StrCat(verdict, " in all of them", Cause(*members))
                    : is_rest          ? absl::StrCat(verdict, " in the other ", members->size())
                                       : absl::StrCat(verdict, " in ", Names(*members), Cause(*members)));
  }
  std::string text = absl::StrCat(ranks.size(), " ranks: ", absl::StrJoin(parts, "; "), ".");
  if (restarts > 0) {
    absl::StrAppend(
        &text, " ",
        restarts == 1 ? "One earlier attempt was" : absl::StrCat(restarts, " earlier attempts were"),
        " started again and ", restarts == 1 ? "is" : "are", " not counted.");
  }
  return text;
}

}  // namespace plateau::report

#include "analyzer/report/ranks/rank_words.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::report {
namespace {

constexpr size_t kNamedRanks = 4;    // of one verdict; more are counted
constexpr size_t kOddSentences = 3;  // beside the verdicts

using Members = std::vector<const RankSummary*>;

int RankOfVerdict(const std::string& name) {
  const auto kind = verdict::ParseVerdict(name);
  return kind ? verdict::SeverityRank(*kind) : 0;
}

// "rank 3", "ranks 1, 2 and 5", "9 ranks".
std::string Names(const Members& ranks) {
  if (ranks.size() == 1) return absl::StrCat("rank ", ranks[0]->rank);
  if (ranks.size() > kNamedRanks) return absl::StrCat(ranks.size(), " ranks");
  std::vector<std::string> numbers;
  for (const RankSummary* rank : ranks) numbers.push_back(absl::StrCat(rank->rank));
  const std::string last = numbers.back();
  numbers.pop_back();
  return absl::StrCat("ranks ", absl::StrJoin(numbers, ", "), " and ", last);
}

// " (64.0 KiB/step at data.py:57 in collate)": what made the verdict, where all of them name one line.
std::string Cause(const Members& ranks) {
  const std::string& site = ranks[0]->site;
  const std::string group =
      ranks.size() == 1 && !ranks[0]->group.empty() ? absl::StrCat(", ", ranks[0]->group) : std::string();
  const bool is_one_line =
      std::all_of(ranks.begin(), ranks.end(), [&](const RankSummary* r) { return r->site == site; });
  if (!is_one_line || site.empty()) return "";
  const auto [low, high] =
      std::minmax_element(ranks.begin(), ranks.end(), [](const RankSummary* a, const RankSummary* b) {
        return a->rate_bytes_per_step < b->rate_bytes_per_step;
      });
  const double least = (*low)->rate_bytes_per_step;
  if (least <= 0) return absl::StrCat(" (", site, group, ")");
  const std::string rate =
      ranks.size() == 1 ? HumanRate(least)
                        : absl::StrCat(HumanRate(least), " to ", HumanRate((*high)->rate_bytes_per_step));
  return absl::StrCat(" (", rate, " at ", site, group, ")");
}

// By verdict: the worst first, the largest group last.
std::vector<Members> ByVerdict(const std::vector<RankFacts>& ranks) {
  std::map<std::string, Members> by_verdict;
  for (const RankFacts& rank : ranks) by_verdict[rank.summary.verdict].push_back(&rank.summary);
  std::vector<Members> groups;
  for (auto& [name, members] : by_verdict) groups.push_back(std::move(members));
  std::stable_sort(groups.begin(), groups.end(), [](const Members& a, const Members& b) {
    return RankOfVerdict(a.front()->verdict) < RankOfVerdict(b.front()->verdict);
  });
  const auto largest = std::max_element(
      groups.begin(), groups.end(), [](const Members& a, const Members& b) { return a.size() < b.size(); });
  std::rotate(largest, largest + 1, groups.end());
  return groups;
}

std::string VerdictsInWords(const std::vector<Members>& groups) {
  std::vector<std::string> parts;
  for (const Members& members : groups) {
    const bool is_rest = groups.size() > 1 && &members == &groups.back() && members.size() > 1;
    const std::string verdict = absl::StrReplaceAll(members.front()->verdict, {{"_", " "}});
    parts.push_back(groups.size() == 1 ? absl::StrCat(verdict, " in all of them", Cause(members))
                    : is_rest          ? absl::StrCat(verdict, " in the other ", members.size())
                                       : absl::StrCat(verdict, " in ", Names(members), Cause(members)));
  }
  return absl::StrJoin(parts, "; ");
}

std::string Capitalized(std::string text) {
  if (!text.empty()) text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
  return text;
}

// What the words about verdicts have said already: a rank of another verdict than most, by the line that made it.
bool IsSaid(const OddRank& odd, const std::vector<RankFacts>& ranks, const std::vector<Members>& groups) {
  const RankSummary& rank = ranks[odd.index].summary;
  return odd.kind == Oddness::kGrows && groups.size() > 1 && rank.site == odd.site &&
         rank.verdict != groups.back().front()->verdict;
}

// One sentence for each way of being odd at one line, of the rank that is oddest there.
std::string OddSentences(const std::vector<RankFacts>& ranks, const std::vector<OddRank>& odd,
                         const std::vector<Members>& groups) {
  std::vector<std::pair<const OddRank*, Members>> said;
  for (const OddRank& one : odd) {
    if (IsSaid(one, ranks, groups)) continue;
    const auto found = std::find_if(said.begin(), said.end(), [&one](const auto& entry) {
      return entry.first->kind == one.kind && entry.first->site == one.site;
    });
    Members& members = found == said.end() ? said.emplace_back(&one, Members()).second : found->second;
    members.push_back(&ranks[one.index].summary);
  }
  std::string text;
  for (size_t i = 0; i < said.size() && i < kOddSentences; ++i) {
    auto& [worst, members] = said[i];
    const std::string first = absl::StrCat("rank ", ranks[worst->index].summary.rank);
    const std::string others =
        members.size() == 1 ? ""
                            : absl::StrCat(" (so ", members.size() == 2 ? "does " : "do ", members.size() - 1,
                                           members.size() == 2 ? " other" : " others", ")");
    absl::StrAppend(&text, " ", Capitalized(first), " ", OddInWords(*worst), others, ".");
  }
  if (said.size() > kOddSentences)
    absl::StrAppend(&text, " Ranks differ in ", said.size() - kOddSentences, " more ways.");
  return text;
}

}  // namespace

std::string OddInWords(const OddRank& odd) {
  switch (odd.kind) {
    case Oddness::kGrows:
      return absl::StrCat("grows by ", HumanRate(odd.value), " at ", odd.site, "; the median rank by ",
                          HumanRate(odd.middle));
    case Oddness::kHoldsMore:
      return absl::StrCat("holds ", FormatBytes(odd.value), " at ", odd.site, "; the median rank has ",
                          FormatBytes(odd.middle), " there");
    case Oddness::kWasKilled:
    case Oddness::kStoppedEarly:
      return absl::StrCat(odd.kind == Oddness::kWasKilled ? "was killed after " : "stopped after ",
                          HumanCount(odd.value), " steps; the median rank made ", HumanCount(odd.middle));
  }
  return "";
}

std::string RanksInWords(const std::vector<RankFacts>& ranks, const std::vector<OddRank>& odd) {
  if (ranks.size() < 2) return "";
  const std::vector<Members> groups = ByVerdict(ranks);
  std::string text =
      absl::StrCat(ranks.size(), " ranks: ", VerdictsInWords(groups), ".", OddSentences(ranks, odd, groups));
  int64_t restarts = 0;
  for (const RankFacts& rank : ranks) restarts += rank.summary.earlier_attempts;
  if (restarts > 0) {
    absl::StrAppend(
        &text, " ",
        restarts == 1 ? "One earlier attempt was" : absl::StrCat(restarts, " earlier attempts were"),
        " started again and ", restarts == 1 ? "is" : "are", " not counted.");
  }
  return text;
}

}  // namespace plateau::report

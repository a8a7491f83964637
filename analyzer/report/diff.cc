#include "analyzer/report/diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "analyzer/report/text_grid.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::report {
namespace {

template <typename Row>
DiffSide SideOf(const Row& row) {
  DiffSide side;
  side.present = true;
  side.retained_bytes = row.retained_bytes;
  side.retained_count = row.retained_count;
  side.peak_bytes = row.peak_bytes;
  side.temporary_bytes = row.temporary_bytes;
  return side;
}

DiffSide SideOf(const Site& site) {
  DiffSide side = SideOf<Site>(site);
  side.verdict = site.verdict;
  if (!site.held_by.empty()) side.held_by = site.held_by.front().text;
  side.line = site.line;
  side.growth_bytes_per_step = site.growth_bytes_per_step;
  return side;
}

using Key = std::tuple<std::string, std::string, std::string>;

std::map<Key, std::vector<const Site*>> ByKey(const ReportModel& model) {
  std::map<Key, std::vector<const Site*>> out;
  for (const Site& site : model.sites) {
    // Without a file the name is all there is.
    out[{site.file.empty() ? site.site : site.file, site.function, site.pool}].push_back(&site);
  }
  for (auto& [key, sites] : out) {
    std::stable_sort(sites.begin(), sites.end(),
                     [](const Site* a, const Site* b) { return a->line < b->line; });
  }
  return out;
}

void PairSites(std::vector<const Site*> before, std::vector<const Site*> after, std::vector<DiffRow>& rows) {
  auto add = [&rows](const Site* old_site, const Site* new_site) {
    DiffRow row;
    row.site = (new_site != nullptr ? new_site : old_site)->site;
    if (old_site != nullptr) row.before = SideOf(*old_site);
    if (new_site != nullptr) row.after = SideOf(*new_site);
    rows.push_back(std::move(row));
  };
  for (const Site*& old_site : before) {
    for (const Site*& new_site : after) {
      if (old_site == nullptr || new_site == nullptr || old_site->line != new_site->line) continue;
      add(old_site, new_site);
      old_site = new_site = nullptr;
    }
  }
  std::erase(before, nullptr);
  std::erase(after, nullptr);
  for (size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
    add(i < before.size() ? before[i] : nullptr, i < after.size() ? after[i] : nullptr);
  }
}

std::string Signed(double bytes) { return absl::StrCat(bytes > 0 ? "+" : "", FormatBytes(bytes)); }

std::string VerdictChange(const DiffRow& row) {
  if (!row.before.present) return absl::StrCat("new: ", row.after.verdict);
  if (!row.after.present) return "gone";
  if (row.before.verdict == row.after.verdict) return row.after.verdict;
  return absl::StrCat(row.before.verdict, " -> ", row.after.verdict);
}

nlohmann::ordered_json ToJson(const DiffSide& side) {
  if (!side.present) return nullptr;
  return {{"verdict", side.verdict},
          {"held_by", side.held_by},
          {"line", side.line},
          {"retained_bytes", side.retained_bytes},
          {"retained_count", side.retained_count},
          {"growth_bytes_per_step", side.growth_bytes_per_step},
          {"peak_bytes", side.peak_bytes},
          {"temporary_bytes", side.temporary_bytes}};
}

nlohmann::ordered_json ToJson(const DiffRow& row) {
  return {{"site", row.site},
          {"retained_change", row.retained_change()},
          {"growth_change", row.growth_change()},
          {"before", ToJson(row.before)},
          {"after", ToJson(row.after)}};
}

}  // namespace

ReportDiff DiffReports(const ReportModel& before, const ReportModel& after) {
  ReportDiff diff;
  diff.verdict_before = before.verdict.name;
  diff.verdict_after = after.verdict.name;
  diff.steps_before = before.steps.count;
  diff.steps_after = after.steps.count;
  diff.totals_before = SideOf(before.totals);
  diff.totals_after = SideOf(after.totals);
  for (const Site& site : before.sites)
    diff.totals_before.growth_bytes_per_step += site.growth_bytes_per_step;
  for (const Site& site : after.sites) diff.totals_after.growth_bytes_per_step += site.growth_bytes_per_step;

  std::map<Key, std::vector<const Site*>> old_sites = ByKey(before);
  for (auto& [key, sites] : ByKey(after)) {
    PairSites(std::move(old_sites[key]), sites, diff.rows);
    old_sites.erase(key);
  }
  for (auto& [key, sites] : old_sites) PairSites(sites, {}, diff.rows);

  std::map<std::string, DiffRow> leftovers;
  for (const Leftover& l : before.leftovers) leftovers[l.name].before = SideOf(l);
  for (const Leftover& l : after.leftovers) leftovers[l.name].after = SideOf(l);
  for (auto& [name, row] : leftovers) {
    row.site = name;
    diff.leftovers.push_back(row);
  }

  // Growth weighs as the bytes it makes over the longer run.
  const double steps = static_cast<double>(std::max<int64_t>({1, diff.steps_before, diff.steps_after}));
  auto weight = [steps](const DiffRow& row) {
    return std::max(std::fabs(static_cast<double>(row.retained_change())),
                    std::fabs(row.growth_change()) * steps);
  };
  std::stable_sort(diff.rows.begin(), diff.rows.end(), [&](const DiffRow& a, const DiffRow& b) {
    return weight(a) != weight(b) ? weight(a) > weight(b) : a.site < b.site;
  });
  return diff;
}

namespace {

// Who holds the rows that are shown, where that is another than before. A run in which nobody looked says nothing.
std::string HolderChanges(const ReportDiff& diff, const DiffTextOptions& options) {
  std::string out;
  size_t shown = 0;
  for (const DiffRow& row : diff.rows) {
    if (row.before.held_by == row.after.held_by) continue;
    if (row.before.present && row.before.held_by.empty() && !row.after.present) continue;
    if (options.top != 0 && ++shown > options.top) break;
    const auto name = [](const DiffSide& side) {
      return !side.present          ? std::string("gone")
             : side.held_by.empty() ? std::string("not known")
                                    : side.held_by;
    };
    absl::StrAppend(&out, out.empty() ? "\nHeld by\n" : "", "  ", Printable(row.site), ": ",
                    row.before.present ? absl::StrCat(Printable(name(row.before)), " -> ") : "",
                    Printable(name(row.after)), "\n");
  }
  return out;
}

}  // namespace

std::string WriteDiffText(const ReportDiff& diff, const DiffTextOptions& options) {
  std::string out = absl::StrCat("Verdict  ", verdict::VerdictTitle(diff.verdict_before), " -> ",
                                 verdict::VerdictTitle(diff.verdict_after), "\nSteps    ",
                                 HumanCount(diff.steps_before), " -> ", HumanCount(diff.steps_after), "\n\n");
  TextGrid grid({{.title = "Site", .right = false},
                 {.title = "before"},
                 {.title = "after"},
                 {.title = "change"},
                 {.title = "growth/step", .drop = 1},
                 {.title = "verdict", .right = false}});
  auto add = [&grid](const DiffRow& row) {
    grid.Add({row.site, row.before.present ? FormatBytes(row.before.retained_bytes) : "-",
              row.after.present ? FormatBytes(row.after.retained_bytes) : "-", Signed(row.retained_change()),
              row.growth_change() == 0 ? "-" : Signed(row.growth_change()), VerdictChange(row)});
  };
  size_t shown = 0, same = 0;
  DiffRow more;
  more.before.present = more.after.present = true;
  for (const DiffRow& row : diff.rows) {
    if (row.retained_change() == 0 && row.growth_change() == 0 && row.before.verdict == row.after.verdict) {
      ++same;
    } else if (options.top == 0 || shown < options.top) {
      ++shown;
      add(row);
      continue;
    }
    more.before.retained_bytes += row.before.retained_bytes;
    more.after.retained_bytes += row.after.retained_bytes;
    more.before.growth_bytes_per_step += row.before.growth_bytes_per_step;
    more.after.growth_bytes_per_step += row.after.growth_bytes_per_step;
  }
  grid.AddRule();
  if (diff.rows.size() > shown) {
    more.site = absl::StrCat("[", diff.rows.size() - shown, " other sites, ", same, " unchanged]");
    add(more);
  }
  for (const DiffRow& row : diff.leftovers) {
    DiffRow plain = row;
    plain.before.present = plain.after.present = true;
    add(plain);
  }
  grid.AddRule();
  DiffRow total;
  total.site = "Total";
  total.before = diff.totals_before;
  total.after = diff.totals_after;
  add(total);
  absl::StrAppend(&out, grid.Write(options.columns));
  return absl::StrCat(out, HolderChanges(diff, options));
}

std::string WriteDiffJson(const ReportDiff& diff) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array(), leftovers = Json::array();
  for (const DiffRow& row : diff.rows) rows.push_back(ToJson(row));
  for (const DiffRow& row : diff.leftovers) leftovers.push_back(ToJson(row));
  const Json out = {
      {"schema", "plateau-diff/1"},
      {"verdict", {{"before", diff.verdict_before}, {"after", diff.verdict_after}}},
      {"steps", {{"before", diff.steps_before}, {"after", diff.steps_after}}},
      {"totals", {{"before", ToJson(diff.totals_before)}, {"after", ToJson(diff.totals_after)}}},
      {"sites", rows},
      {"leftovers", leftovers}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plateau::report

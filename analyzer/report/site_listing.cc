#include "analyzer/report/site_listing.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::report {
namespace {

template <typename Row>
void AddBytes(TableRow& to, const Row& from) {
  to.retained_bytes += from.retained_bytes;
  to.retained_count += from.retained_count;
  to.peak_bytes += from.peak_bytes;
  to.temporary_bytes += from.temporary_bytes;
}

void AddRow(TableRow& to, const TableRow& from) {
  AddBytes(to, from);
  to.sites += from.sites;
  to.growth_bytes_per_step += from.growth_bytes_per_step;
  to.alloc_count += from.alloc_count;
  to.tensor_count += from.tensor_count;
  if (to.verdict.empty() || verdict::ToneOf(from.verdict) > verdict::ToneOf(to.verdict))
    to.verdict = from.verdict;
}

TableRow RowOf(const Site& site) {
  TableRow row;
  row.name = NameWithPool(site);
  row.verdict = site.verdict;
  row.source_line = site.source_line;
  row.sites = 1;
  AddBytes(row, site);
  row.growth_bytes_per_step = site.growth_bytes_per_step;
  row.alloc_count = site.alloc_count;
  row.tensor_count = site.tensor_count;
  return row;
}

bool Contains(const std::string& text, const std::string& lower_part) {
  return absl::StrContains(absl::AsciiStrToLower(text), lower_part);
}

bool Passes(const SiteFilter& f, const Site& site) {
  if (!f.pool.empty() && site.pool != f.pool) return false;
  if (!f.phase.empty() && site.phase != f.phase) return false;
  if (!f.verdict.empty() && site.verdict != f.verdict) return false;
  if (!f.path_glob.empty() && !MatchesGlob(f.path_glob, site.file) &&
      !MatchesGlob(f.path_glob, site.module)) {
    return false;
  }
  if (!f.text.empty()) {
    const std::string part = absl::AsciiStrToLower(f.text);
    if (!Contains(site.site, part) && !Contains(site.file, part) && !Contains(site.function, part))
      return false;
  }
  if (f.min_object_bytes.has_value() || f.max_object_bytes.has_value()) {
    const double mean = site.alloc_count > 0 ? static_cast<double>(site.alloc_bytes) / site.alloc_count : 0;
    if (f.min_object_bytes.has_value() && mean < *f.min_object_bytes) return false;
    if (f.max_object_bytes.has_value() && mean > *f.max_object_bytes) return false;
  }
  return true;
}

// Bytes alive at the end that were born within the filter's steps; all of them when the site has no birth
// series.
int64_t BornWithin(const ReportModel& model, const SiteFilter& f, const Site& site) {
  if (site.survivor_bytes.empty()) return site.retained_bytes;
  const double last = static_cast<double>(model.steps.count);
  int64_t sum = 0;
  for (size_t i = 0; i < site.survivor_bytes.size() && i < model.axis_steps.size(); ++i) {
    const double born = model.axis_steps[i];
    const double age = last - born;
    if (f.from_step.has_value() && born < *f.from_step) continue;
    if (f.to_step.has_value() && born > *f.to_step) continue;
    if (f.min_age_steps.has_value() && age < *f.min_age_steps) continue;
    if (f.max_age_steps.has_value() && age > *f.max_age_steps) continue;
    sum += site.survivor_bytes[i];
  }
  return sum;
}

// The part of `whole` that `shown` leaves.
TableRow Difference(const TableRow& whole, const TableRow& shown) {
  TableRow rest;
  rest.retained_bytes = whole.retained_bytes - shown.retained_bytes;
  rest.retained_count = whole.retained_count - shown.retained_count;
  rest.growth_bytes_per_step = whole.growth_bytes_per_step - shown.growth_bytes_per_step;
  rest.peak_bytes = whole.peak_bytes - shown.peak_bytes;
  rest.temporary_bytes = whole.temporary_bytes - shown.temporary_bytes;
  rest.alloc_count = whole.alloc_count - shown.alloc_count;
  rest.tensor_count = whole.tensor_count - shown.tensor_count;
  return rest;
}

std::string OrNone(const std::string& name) { return name.empty() ? "[none]" : name; }

// A site's row under each group it belongs to. Shares of threads and processes that do not add up to the site
// leave a "[unknown]" row.
std::vector<TableRow> Grouped(const Site& site, TableRow row, Grouping group) {
  auto named = [&](const std::string& name) {
    row.name = OrNone(name);
    return std::vector<TableRow>{row};
  };
  switch (group) {
    case Grouping::kSite:
      return {row};
    case Grouping::kFile:
      return named(site.file);
    case Grouping::kFunction:
      return named(site.function);
    case Grouping::kModule:
      return named(site.module);
    case Grouping::kPool:
      return named(site.pool);
    case Grouping::kPhase:
      return named(site.phase);
    case Grouping::kCategory:
      return named(site.category);
    case Grouping::kThread:
    case Grouping::kProcess:
      break;
  }
  const std::vector<Share>& shares = group == Grouping::kThread ? site.threads : site.processes;
  std::vector<TableRow> rows;
  TableRow shown;
  for (const Share& share : shares) {
    TableRow part;
    part.name = OrNone(share.name);
    part.verdict = row.verdict;
    part.sites = 1;
    AddBytes(part, share);
    part.growth_bytes_per_step = share.growth_bytes_per_step;
    if (shares.size() == 1) {
      part.alloc_count = row.alloc_count;
      part.tensor_count = row.tensor_count;
    }
    AddRow(shown, part);
    rows.push_back(part);
  }
  TableRow rest = Difference(row, shown);
  if (rest.retained_bytes != 0 || rest.peak_bytes != 0 || rest.temporary_bytes != 0 ||
      rest.alloc_count != 0 || rest.retained_count != 0) {
    rest.name = "[unknown]";
    rest.verdict = row.verdict;
    rest.sites = shares.empty() ? 1 : 0;
    rows.push_back(rest);
  }
  return rows;
}

double KeyOf(const TableRow& row, SortKey key) {
  switch (key) {
    case SortKey::kRetained:
      return static_cast<double>(row.retained_bytes);
    case SortKey::kGrowth:
      return row.growth_bytes_per_step;
    case SortKey::kPeak:
      return static_cast<double>(row.peak_bytes);
    case SortKey::kTemporary:
      return static_cast<double>(row.temporary_bytes);
    case SortKey::kCount:
      return static_cast<double>(row.retained_count);
    case SortKey::kTensors:
      return static_cast<double>(row.tensor_count);
    case SortKey::kAllocations:
      return static_cast<double>(row.alloc_count);
    case SortKey::kName:
      return 0;
  }
  return 0;
}

}  // namespace

std::optional<Grouping> ParseGrouping(absl::string_view name) {
  if (name == "site") return Grouping::kSite;
  if (name == "file") return Grouping::kFile;
  if (name == "function") return Grouping::kFunction;
  if (name == "module") return Grouping::kModule;
  if (name == "thread") return Grouping::kThread;
  if (name == "process") return Grouping::kProcess;
  if (name == "pool") return Grouping::kPool;
  if (name == "phase") return Grouping::kPhase;
  if (name == "category") return Grouping::kCategory;
  return std::nullopt;
}

std::optional<SortKey> ParseSortKey(absl::string_view name) {
  if (name == "retained") return SortKey::kRetained;
  if (name == "growth") return SortKey::kGrowth;
  if (name == "peak") return SortKey::kPeak;
  if (name == "temporary") return SortKey::kTemporary;
  if (name == "count") return SortKey::kCount;
  if (name == "tensors") return SortKey::kTensors;
  if (name == "allocations") return SortKey::kAllocations;
  if (name == "name") return SortKey::kName;
  return std::nullopt;
}

SiteListing ListSites(const ReportModel& model, const TableOptions& options) {
  SiteListing table;
  TableRow suppressed, filtered;
  absl::flat_hash_map<std::string, size_t> group_index;
  for (const Site& site : model.sites) {
    TableRow row = RowOf(site);
    AddRow(table.total, row);
    if (options.suppressions != nullptr && options.suppressions->Match(model, site) >= 0) {
      AddRow(suppressed, row);
      continue;
    }
    if (!Passes(options.filter, site)) {
      AddRow(filtered, row);
      continue;
    }
    if (options.filter.has_birth_limits()) {
      const int64_t born = BornWithin(model, options.filter, site);
      TableRow outside;
      outside.retained_bytes = row.retained_bytes - born;
      AddRow(filtered, outside);
      if (born == 0) {
        row.retained_bytes = 0;
        AddRow(filtered, row);
        continue;
      }
      row.retained_bytes = born;
    }
    for (const TableRow& part : Grouped(site, row, options.group)) {
      if (options.group == Grouping::kSite) {
        table.rows.push_back(part);
        continue;
      }
      const auto [at, added] = group_index.try_emplace(part.name, table.rows.size());
      if (added) {
        table.rows.emplace_back();
        table.rows.back().name = part.name;
      }
      AddRow(table.rows[at->second], part);
    }
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const TableRow& a, const TableRow& b) {
    const double x = KeyOf(a, options.sort), y = KeyOf(b, options.sort);
    if (x != y) return x > y;
    // Without steps nothing grows "per step": what holds most comes first then.
    if (options.sort == SortKey::kGrowth && a.retained_bytes != b.retained_bytes)
      return a.retained_bytes > b.retained_bytes;
    return a.name < b.name;
  });

  auto add_rest = [&table](TableRow row, std::string name) {
    row.name = std::move(name);
    row.verdict.clear();
    table.rest.push_back(std::move(row));
  };
  if (options.top > 0 && table.rows.size() > options.top) {
    TableRow more;
    for (size_t i = options.top; i < table.rows.size(); ++i) AddRow(more, table.rows[i]);
    add_rest(more, absl::StrCat("[", HumanCount(static_cast<double>(table.rows.size() - options.top)),
                                " more rows]"));
    table.rows.resize(options.top);
  }
  if (suppressed.sites > 0) add_rest(suppressed, "[suppressed]");
  if (filtered.sites > 0 || filtered.retained_bytes != 0) add_rest(filtered, "[filtered out]");
  for (const Leftover& leftover : model.leftovers) {
    TableRow row;
    AddBytes(row, leftover);
    row.alloc_count = leftover.alloc_count;
    AddRow(table.total, row);
    add_rest(row, leftover.name);
  }
  table.total.name = "Total";
  table.total.verdict.clear();
  return table;
}

}  // namespace plateau::report

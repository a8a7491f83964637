#include "analyzer/report/report_model.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace plateau::report {
namespace {

struct Sums {
  int64_t retained_bytes = 0, retained_count = 0, peak_bytes = 0, temporary_bytes = 0, alloc_bytes = 0,
          alloc_count = 0;

  template <typename Row>
  void Add(const Row& row) {
    retained_bytes += row.retained_bytes;
    retained_count += row.retained_count;
    peak_bytes += row.peak_bytes;
    temporary_bytes += row.temporary_bytes;
    alloc_bytes += row.alloc_bytes;
    alloc_count += row.alloc_count;
  }
};

void Compare(const char* parts, const Sums& sums, const Totals& totals, std::vector<std::string>& wrong) {
  auto check = [&](const char* what, int64_t sum, int64_t total) {
    if (sum != total)
      wrong.push_back(absl::StrCat(parts, ": ", what, " add up to ", sum, ", the total is ", total));
  };
  check("retained bytes", sums.retained_bytes, totals.retained_bytes);
  check("retained objects", sums.retained_count, totals.retained_count);
  check("peak bytes", sums.peak_bytes, totals.peak_bytes);
  check("temporary bytes", sums.temporary_bytes, totals.temporary_bytes);
  check("allocated bytes", sums.alloc_bytes, totals.alloc_bytes);
  check("allocations", sums.alloc_count, totals.alloc_count);
}

}  // namespace

std::string NameWithPool(const Site& site) {
  return site.pool.empty() || site.pool == "host" ? site.site : absl::StrCat(site.site, " (", site.pool, ")");
}

std::vector<std::string> CheckTotals(const ReportModel& model) {
  std::vector<std::string> wrong;
  Sums sites;
  for (const Site& site : model.sites) sites.Add(site);
  for (const Leftover& leftover : model.leftovers) sites.Add(leftover);
  Compare("sites and leftovers", sites, model.totals, wrong);
  if (!model.stacks.empty()) {
    Sums stacks;
    for (const StackTreeNode& node : model.stacks) stacks.Add(node);
    Compare("stacks", stacks, model.totals, wrong);
  }
  if (!model.breakdown.empty()) {
    int64_t bytes = 0;
    for (const BreakdownItem& item : model.breakdown) bytes += item.bytes;
    if (bytes != model.totals.retained_bytes) {
      wrong.push_back(
          absl::StrCat("breakdown: bytes add up to ", bytes, ", the total is ", model.totals.retained_bytes));
    }
  }
  return wrong;
}

void SortSites(ReportModel& model) {
  std::vector<size_t> order(model.sites.size());
  std::iota(order.begin(), order.end(), 0);
  // Without training steps, what was loaded before the work is not what people look for.
  const bool is_by_growth = model.steps.count == 0 || !model.steps.loop.empty();
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Site& x = model.sites[a];
    const Site& y = model.sites[b];
    if (is_by_growth && x.grown_bytes != y.grown_bytes) return x.grown_bytes > y.grown_bytes;
    if (x.retained_bytes != y.retained_bytes) return x.retained_bytes > y.retained_bytes;
    if (x.growth_bytes_per_step != y.growth_bytes_per_step) {
      return x.growth_bytes_per_step > y.growth_bytes_per_step;
    }
    return x.site < y.site;
  });
  std::vector<int32_t> new_index(order.size());
  std::vector<Site> sorted;
  sorted.reserve(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    new_index[order[i]] = static_cast<int32_t>(i);
    sorted.push_back(std::move(model.sites[order[i]]));
  }
  model.sites = std::move(sorted);
  for (StackTreeNode& node : model.stacks) {
    if (node.site >= 0 && static_cast<size_t>(node.site) < new_index.size()) node.site = new_index[node.site];
  }
}

}  // namespace plateau::report

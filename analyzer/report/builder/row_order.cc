#include "analyzer/report/builder/row_order.h"

#include <algorithm>
#include <tuple>

namespace plateau::report {
namespace {

struct Weighed {
  double held_bytes;
  double alloc_bytes;
  uint32_t row;

  // True when this one comes before `other`.
  bool operator<(const Weighed& other) const {
    return std::tuple(other.held_bytes, other.alloc_bytes, row) <
           std::tuple(held_bytes, alloc_bytes, other.row);
  }
};

Weighed Weigh(const process::ProcessAnalysis& process, uint32_t index) {
  const replay::StackRow row = process.memory.Row(index);
  return {row.live_bytes + row.peak_bytes, row.alloc_bytes, index};
}

// The largest rows, in no order.
std::vector<uint32_t> LargestRows(const process::ProcessAnalysis& process, size_t count) {
  std::vector<Weighed> rows(process.memory.row_count());
  for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = Weigh(process, i);
  count = std::min(count, rows.size());
  std::nth_element(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(count), rows.end());
  std::vector<uint32_t> largest;
  for (size_t i = 0; i < count; ++i) largest.push_back(rows[i].row);
  return largest;
}

}  // namespace

std::vector<uint32_t> OrderRows(const process::ProcessAnalysis& process, size_t max_stacks) {
  const process::RowDigest& digest = process.rows;
  std::vector<uint32_t> chosen;
  // Those without a stack take none of the places of those that have one.
  if (max_stacks > 0) chosen = LargestRows(process, max_stacks + digest.named_rows.size());
  chosen.insert(chosen.end(), digest.named_rows.begin(), digest.named_rows.end());
  for (const process::SiteRows& site : digest.sites) {
    if (site.largest != process::SiteRows::kNone) chosen.push_back(site.largest);
  }
  std::vector<Weighed> rows;
  for (const uint32_t row : chosen) rows.push_back(Weigh(process, row));
  std::sort(rows.begin(), rows.end());
  std::vector<uint32_t> order;
  for (const Weighed& row : rows) {
    if (order.empty() || order.back() != row.row) order.push_back(row.row);
  }
  return order;
}

}  // namespace plateau::report

#include "analyzer/report/row_order.h"

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

}  // namespace

RowOrder OrderRows(const ProcessPass& pass, size_t max_stacks) {
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<Weighed> rows(pass.row_count());
  std::vector<uint32_t> largest(pass.site_count(), kNone);  // by site
  std::vector<bool> is_first(rows.size());
  for (uint32_t i = 0; i < rows.size(); ++i) {
    const replay::StackRow& row = pass.Row(i);
    rows[i] = {row.live_bytes + row.peak_bytes, row.alloc_bytes, i};
    if (row.node == 0 || pass.IsDeviceSite(row.site)) is_first[i] = true;
    uint32_t& best = largest[row.site];
    if (best == kNone || rows[i] < rows[best]) best = i;
  }
  for (const uint32_t row : largest) {
    if (row != kNone) is_first[row] = true;
  }
  const size_t without_stack = static_cast<size_t>(std::count_if(
      rows.begin(), rows.end(), [&pass](const Weighed& row) { return pass.Row(row.row).node == 0; }));
  const size_t top = std::min(rows.size(), max_stacks + without_stack);
  std::nth_element(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(top), rows.end());
  for (size_t i = 0; i < top; ++i) is_first[rows[i].row] = true;

  RowOrder order;
  order.with_stack = max_stacks;
  rows.erase(std::remove_if(rows.begin(), rows.end(), [&](const Weighed& row) { return !is_first[row.row]; }),
             rows.end());
  std::sort(rows.begin(), rows.end());
  for (const Weighed& row : rows) order.first.push_back(row.row);
  for (uint32_t i = 0; i < is_first.size(); ++i) {
    if (!is_first[i]) order.rest.push_back(i);
  }
  return order;
}

}  // namespace plateau::report

#include "analyzer/report/page/downsample.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace plateau::report {
namespace {

constexpr int kMetrics = 4;

std::array<double, kMetrics> Metrics(const StackTreeNode& node) {
  return {std::fabs(static_cast<double>(node.retained_bytes)), std::fabs(node.growth_bytes_per_step),
          std::fabs(static_cast<double>(node.peak_bytes)),
          std::fabs(static_cast<double>(node.temporary_bytes))};
}

void AddValues(StackTreeNode& to, const StackTreeNode& from) {
  to.retained_bytes += from.retained_bytes;
  to.retained_count += from.retained_count;
  to.growth_bytes_per_step += from.growth_bytes_per_step;
  to.peak_bytes += from.peak_bytes;
  to.temporary_bytes += from.temporary_bytes;
  to.alloc_bytes += from.alloc_bytes;
  to.alloc_count += from.alloc_count;
}

// The largest share, over the metrics, of the whole that a node and what is below it have. Never less than a
// child's.
std::vector<double> LargestShares(const std::vector<StackTreeNode>& stacks) {
  std::vector<std::array<double, kMetrics>> sums(stacks.size());
  std::array<double, kMetrics> whole{};
  for (size_t i = stacks.size(); i-- > 0;) {
    const std::array<double, kMetrics> own = Metrics(stacks[i]);
    for (int m = 0; m < kMetrics; ++m) {
      sums[i][m] += own[m];
      whole[m] += own[m];
      if (stacks[i].parent >= 0) sums[stacks[i].parent][m] += sums[i][m];
    }
  }
  std::vector<double> shares(stacks.size(), 0);
  for (size_t i = 0; i < stacks.size(); ++i) {
    for (int m = 0; m < kMetrics; ++m) {
      if (whole[m] > 0) shares[i] = std::max(shares[i], sums[i][m] / whole[m]);
    }
  }
  return shares;
}

}  // namespace

std::vector<LedgerReading> ThinLedger(const std::vector<LedgerReading>& ledger, size_t max_rows) {
  if (ledger.size() <= max_rows || max_rows < 4) return ledger;
  std::vector<LedgerReading> out = {ledger.front()};
  const size_t inner = ledger.size() - 2;
  const size_t buckets = (max_rows - 2) / 2;
  for (size_t b = 0; b < buckets; ++b) {
    const auto from = ledger.begin() + 1 + b * inner / buckets;
    const auto to = ledger.begin() + 1 + (b + 1) * inner / buckets;
    if (from == to) continue;
    auto [low, high] = std::minmax_element(
        from, to, [](const LedgerReading& x, const LedgerReading& y) { return x.rss_bytes < y.rss_bytes; });
    if (high < low) std::swap(low, high);
    out.push_back(*low);
    if (low != high) out.push_back(*high);
  }
  out.push_back(ledger.back());
  return out;
}

std::vector<size_t> BucketStarts(size_t points, size_t max_points) {
  const size_t count = std::min(points, std::max<size_t>(max_points, 1));
  std::vector<size_t> starts(count);
  for (size_t i = 0; i < count; ++i) starts[i] = i * points / count;
  return starts;
}

std::vector<int64_t> SumBuckets(const std::vector<int64_t>& values, const std::vector<size_t>& starts) {
  std::vector<int64_t> out(starts.size(), 0);
  size_t bucket = 0;
  for (size_t i = 0; i < values.size() && !starts.empty(); ++i) {
    while (bucket + 1 < starts.size() && i >= starts[bucket + 1]) ++bucket;
    out[bucket] += values[i];
  }
  return out;
}

std::vector<int64_t> LastOfBuckets(const std::vector<int64_t>& values, const std::vector<size_t>& starts) {
  std::vector<int64_t> out(starts.size(), 0);
  for (size_t i = 0; i < starts.size() && !values.empty(); ++i) {
    const size_t end = i + 1 < starts.size() ? starts[i + 1] : values.size();
    out[i] = values[std::min(std::max<size_t>(end, 1), values.size()) - 1];
  }
  return out;
}

std::vector<StackTreeNode> PruneStacks(const std::vector<StackTreeNode>& stacks, size_t max_nodes,
                                       uint32_t smaller_frame) {
  if (stacks.size() <= max_nodes) return stacks;
  const std::vector<double> shares = LargestShares(stacks);
  // Half of the room is for nodes, half for the "smaller stacks" below them.
  const size_t keep = std::max<size_t>(max_nodes / 2, 1);
  std::vector<double> ordered = shares;
  std::nth_element(ordered.begin(), ordered.begin() + (keep - 1), ordered.end(), std::greater<>());
  const double threshold = ordered[keep - 1];
  size_t above = 0;
  for (double share : shares) above += share > threshold;
  size_t ties = keep - above;  // equal shares are taken in order, parents first

  std::vector<StackTreeNode> out;
  std::vector<int32_t> new_index(stacks.size(),
                                 -1);  // of the node itself when kept, else of its "smaller" stand-in
  std::vector<int32_t> smaller_of;     // per new node, its stand-in child or -1
  std::vector<bool> kept(stacks.size(), false);
  int32_t smaller_root = -1;
  for (size_t i = 0; i < stacks.size(); ++i) {
    const StackTreeNode& node = stacks[i];
    const bool parent_kept = node.parent < 0 || kept[node.parent];
    bool stay = parent_kept && shares[i] > threshold;
    if (!stay && parent_kept && shares[i] == threshold && ties > 0) {
      stay = true;
      --ties;
    }
    if (stay) {
      kept[i] = true;
      new_index[i] = static_cast<int32_t>(out.size());
      out.push_back(node);
      out.back().parent = node.parent < 0 ? -1 : new_index[node.parent];
      smaller_of.push_back(-1);
      continue;
    }
    // Everything below a dropped node goes to the stand-in of its nearest kept ancestor.
    if (!parent_kept) {
      new_index[i] = new_index[node.parent];
    } else {
      int32_t& stand_in = node.parent < 0 ? smaller_root : smaller_of[new_index[node.parent]];
      if (stand_in < 0) {
        stand_in = static_cast<int32_t>(out.size());
        new_index[i] = stand_in;
        out.push_back({.parent = node.parent < 0 ? -1 : new_index[node.parent], .frame = smaller_frame});
        smaller_of.push_back(-1);
      } else {
        new_index[i] = stand_in;
      }
    }
    AddValues(out[new_index[i]], node);
  }
  return out;
}

}  // namespace plateau::report

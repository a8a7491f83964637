#include "analyzer/series/copy_on_write.h"

#include <algorithm>
#include <utility>

namespace plateau::series {

size_t CopyOnWrite::AddWorker(std::vector<CopiedRange> ranges) {
  workers_.push_back(std::move(ranges));
  return workers_.size() - 1;
}

void CopyOnWrite::AddBlock(size_t worker, uint64_t address, uint64_t bytes, double weight, size_t site) {
  const std::vector<CopiedRange>& ranges = workers_[worker];
  auto range = std::upper_bound(ranges.begin(), ranges.end(), address,
                                [](uint64_t a, const CopiedRange& r) { return a < r.end; });
  double copied = 0;
  for (; range != ranges.end() && range->begin < address + bytes; ++range) {
    const uint64_t begin = std::max(address, range->begin);
    const uint64_t end = std::min(address + bytes, range->end);
    if (end > begin) copied += static_cast<double>(end - begin);
  }
  if (copied > 0) by_site_[site] += copied * weight;
}

CopyOnWriteAttribution CopyOnWrite::Finish() const {
  double copied = 0;
  for (const std::vector<CopiedRange>& ranges : workers_) {
    for (const CopiedRange& range : ranges) copied += static_cast<double>(range.end - range.begin);
  }
  double owned = 0;
  for (const auto& [site, bytes] : by_site_) owned += bytes;
  const double scale = owned > copied ? copied / owned : 1;
  CopyOnWriteAttribution result;
  for (const auto& [site, bytes] : by_site_) result.sites.push_back({site, bytes * scale});
  result.without_block = copied - owned * scale;
  std::stable_sort(result.sites.begin(), result.sites.end(),
                   [](const CopiedBytes& a, const CopiedBytes& b) { return a.bytes > b.bytes; });
  return result;
}

}  // namespace plateau::series

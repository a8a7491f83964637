#include "analyzer/series/copy_on_write.h"

#include <algorithm>
#include <map>

namespace plateau::series {

CopyOnWriteAttribution AttributeCopies(std::vector<ParentBlock> blocks,
                                       const std::vector<DirtyRange>& ranges) {
  std::sort(blocks.begin(), blocks.end(),
            [](const ParentBlock& a, const ParentBlock& b) { return a.address < b.address; });
  std::map<size_t, double> by_site;
  CopyOnWriteAttribution result;
  for (const DirtyRange& range : ranges) {
    if (range.end <= range.begin || range.dirty_bytes == 0) continue;
    const double length = static_cast<double>(range.end - range.begin);
    const double dirty_share = std::min(1.0, static_cast<double>(range.dirty_bytes) / length);
    auto block = std::upper_bound(blocks.begin(), blocks.end(), range.begin,
                                  [](uint64_t address, const ParentBlock& b) { return address < b.address; });
    if (block != blocks.begin()) --block;
    double covered = 0;
    for (; block != blocks.end() && block->address < range.end; ++block) {
      const uint64_t begin = std::max(block->address, range.begin);
      const uint64_t end = std::min(block->address + block->bytes, range.end);
      if (end <= begin) continue;
      covered += static_cast<double>(end - begin);
      by_site[block->site] += static_cast<double>(end - begin) * dirty_share;
    }
    result.without_block += std::max(0.0, length - covered) * dirty_share;
  }
  for (const auto& [site, bytes] : by_site) result.sites.push_back({site, bytes});
  std::stable_sort(result.sites.begin(), result.sites.end(),
                   [](const CopiedBytes& a, const CopiedBytes& b) { return a.bytes > b.bytes; });
  return result;
}

}  // namespace plateau::series

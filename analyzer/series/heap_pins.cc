#include "analyzer/series/heap_pins.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace plateau::series {
namespace {

constexpr uint64_t kThreadArenaBytes = uint64_t{64} << 20;
constexpr uint64_t kMapsBegin = uint64_t{0x7} << 44;  // x86-64 and AArch64: maps lie at the upper end

// What glibc takes for a request: 8 bytes for its size, in steps of 16, 32 at least.
uint64_t ChunkBytes(uint64_t bytes) { return std::max<uint64_t>(32, (bytes + 8 + 15) / 16 * 16); }

}  // namespace

uint64_t HeapPins::ArenaOf(uint64_t address) {
  return address < kMapsBegin ? 0 : address / kThreadArenaBytes;
}

bool HeapPins::IsInArena(uint64_t address, uint64_t bytes) {
  constexpr uint64_t kPage = 4096, kHead = 16;
  return bytes < kOwnMapBytes || address % kPage != kHead || address < kMapsBegin;
}

void HeapPins::AddUse(uint64_t address, uint64_t bytes, double weight) {
  if (!IsInArena(address, bytes)) return;
  is_exact_ &= weight == 1;
  const uint64_t end = address + std::min(ChunkBytes(bytes), uint64_t{1} << 40);
  uint64_t page = address / page_bytes_;
  pages_[page].count += static_cast<float>(weight);
  for (uint64_t begin = address; begin < end; ++page) {
    const uint64_t page_end = std::min(end, (page + 1) * page_bytes_);
    pages_[page].used_bytes += static_cast<float>(weight * static_cast<double>(page_end - begin));
    begin = page_end;
  }
  if (pages_.size() > options_.max_pages) Coarsen();
}

void HeapPins::Coarsen() {
  absl::flat_hash_map<uint64_t, Page> wider;
  page_bytes_ *= 2;
  for (const auto& [number, page] : pages_) {
    Page& sum = wider[number / 2];
    sum.used_bytes += page.used_bytes;
    sum.count += page.count;
  }
  pages_ = std::move(wider);
}

void HeapPins::EndUses() {
  std::vector<uint64_t> order;
  order.reserve(pages_.size());
  for (const auto& [number, page] : pages_) order.push_back(number);
  std::sort(order.begin(), order.end());
  const double width = static_cast<double>(page_bytes_);
  // Of pages on which no block begins, the next block above is the owner of what is free there.
  double waiting = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const uint64_t number = order[i];
    Page& page = pages_[number];
    const bool begins_arena = i == 0 || ArenaOf(order[i - 1] * page_bytes_) != ArenaOf(number * page_bytes_);
    double held = std::max(0.0, width - static_cast<double>(page.used_bytes));
    if (begins_arena) {
      waiting = 0;
    } else {
      const double empty = static_cast<double>(number - order[i - 1] - 1) * width;
      empty_page_bytes_ += empty;
      held += empty;
    }
    // What is free at the end of the last page may be returned with what lies above it: half of a page, on average.
    const bool ends_arena =
        i + 1 == order.size() || ArenaOf(order[i + 1] * page_bytes_) != ArenaOf(number * page_bytes_);
    if (ends_arena && page_bytes_ > kExactPageBytes) held /= 2;
    waiting += held;
    if (page.count == 0) continue;
    hole_bytes_ += waiting;
    page.bytes_per_block = static_cast<float>(waiting / static_cast<double>(page.count));
    waiting = 0;
  }
}

void HeapPins::AddPin(uint64_t address, uint64_t bytes, double weight, uint32_t site) {
  if (!IsInArena(address, bytes)) return;
  if (site >= sites_.size()) sites_.resize(site + 1);
  const auto found = pages_.find(address / page_bytes_);
  const double each = found == pages_.end() ? 0 : static_cast<double>(found->second.bytes_per_block);
  Sum& sum = sites_[site];
  const double held = weight * each;
  sum.hole_bytes += held;
  sum.variance += held * held * (1 - 1 / std::max(weight, 1.0));
  sum.count += weight;
  sum.bytes += weight * static_cast<double>(bytes);
}

HeapHoles HeapPins::Finish() {
  HeapHoles holes;
  holes.hole_bytes = hole_bytes_;
  holes.empty_page_bytes = empty_page_bytes_;
  holes.page_bytes = page_bytes_;
  holes.is_exact = is_exact_;
  for (uint32_t site = 0; site < sites_.size(); ++site) {
    const Sum& sum = sites_[site];
    if (sum.count <= 0) continue;
    const double error = 1.96 * std::sqrt(sum.variance);
    holes.sites.push_back({.site = site,
                           .hole_bytes = sum.hole_bytes,
                           .hole_interval = {std::max(0.0, sum.hole_bytes - error),
                                             std::min(hole_bytes_, sum.hole_bytes + error)},
                           .block_count = sum.count,
                           .block_bytes = sum.bytes / sum.count});
  }
  std::stable_sort(holes.sites.begin(), holes.sites.end(),
                   [](const PinningSite& a, const PinningSite& b) { return a.hole_bytes > b.hole_bytes; });
  return holes;
}

void HeapHoles::ScaleTo(double bytes) {
  if (hole_bytes <= 0) return;
  const double factor = bytes / hole_bytes;
  hole_bytes = bytes;
  empty_page_bytes *= factor;
  for (PinningSite& site : sites) {
    site.hole_bytes *= factor;
    site.hole_interval = {site.hole_interval.low * factor, site.hole_interval.high * factor};
  }
}

}  // namespace plateau::series

#include "analyzer/process/row_digest.h"

#include <algorithm>
#include <thread>
#include <tuple>

#include "analyzer/base/work_on_threads.h"

namespace plateau::process {
namespace {

constexpr uint32_t kNone = SiteRows::kNone;

class Digester {
 public:
  Digester(const ProcessMemory& memory, const ProcessSites& sites)
      : memory_(memory), weights_(sites.count()) {
    digest_.sites.resize(sites.count());
    for (size_t site = 0; site < weights_.size(); ++site) weights_[site].is_device = sites.IsOfDevice(site);
  }

  void AddRows(size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) AddRow(static_cast<uint32_t>(row));
  }

  // `later` had the rows behind those of this one.
  void Add(const Digester& later) {
    for (size_t i = 0; i < digest_.sites.size(); ++i) {
      SiteRows& to = digest_.sites[i];
      const SiteRows& from = later.digest_.sites[i];
      if (from.typical != kNone) {
        TakeTypical(from.typical, later.weights_[i].typical, i);
        TakeLargest(from.largest, later.weights_[i].largest, i);
      }
      for (const uint32_t holder : from.holders) {
        if (holder != kNone) TakeHolder(holder, memory_.Row(holder).live_bytes, &to);
      }
      to.sum.Add(from.sum);
      to.summed_rows += from.summed_rows;
      to.held_bytes += from.held_bytes;
    }
    const RowDigest& other = later.digest_;
    digest_.named_rows.insert(digest_.named_rows.end(), other.named_rows.begin(), other.named_rows.end());
    for (size_t pool = 0; pool < replay::kPools; ++pool) digest_.has_pool[pool] |= other.has_pool[pool];
    digest_.retained_bytes += other.retained_bytes;
    digest_.heap_alloc_bytes += other.heap_alloc_bytes;
    digest_.heap_alloc_count += other.heap_alloc_count;
  }

  RowDigest& digest() { return digest_; }

 private:
  using Typical = std::tuple<double, double, double>;
  using Largest = std::tuple<double, double>;
  // Of the rows that a site has so far.
  struct Weights {
    Typical typical;
    Largest largest;
    bool is_device;
  };

  void AddRow(uint32_t index) {
    const replay::StackRow row = memory_.Row(index);
    SiteRows& site = digest_.sites[row.site];
    TakeTypical(index, {row.live_bytes, row.peak_bytes, row.alloc_bytes}, row.site);
    TakeLargest(index, {row.live_bytes + row.peak_bytes, row.alloc_bytes}, row.site);
    if (row.live_bytes > 0 && row.node != 0) TakeHolder(index, row.live_bytes, &site);
    site.held_bytes += Round(row.live_bytes);
    const bool is_device = weights_[row.site].is_device;
    if (row.node == 0 || is_device) digest_.named_rows.push_back(index);
    if (is_device) return;
    const RowAmounts amounts(row);
    digest_.has_pool[static_cast<size_t>(row.pool)] = true;
    digest_.retained_bytes += amounts.retained_bytes;
    if (row.pool == replay::Pool::kHeap) {
      digest_.heap_alloc_bytes += amounts.alloc_bytes;
      digest_.heap_alloc_count += amounts.alloc_count;
    }
    if (row.node == 0) return;
    site.sum.Add(amounts);
    ++site.summed_rows;
  }

  void TakeTypical(uint32_t index, const Typical& weight, size_t site) {
    if (digest_.sites[site].typical != kNone && weight <= weights_[site].typical) return;
    digest_.sites[site].typical = index;
    weights_[site].typical = weight;
  }
  void TakeLargest(uint32_t index, const Largest& weight, size_t site) {
    if (digest_.sites[site].largest != kNone && weight <= weights_[site].largest) return;
    digest_.sites[site].largest = index;
    weights_[site].largest = weight;
  }

  void TakeHolder(uint32_t index, double bytes, SiteRows* site) const {
    size_t place = SiteRows::kHolders;
    for (; place > 0; --place) {
      const uint32_t before = site->holders[place - 1];
      if (before != kNone && memory_.Row(before).live_bytes >= bytes) break;
    }
    if (place == SiteRows::kHolders) return;
    std::copy_backward(site->holders.begin() + static_cast<ptrdiff_t>(place), site->holders.end() - 1,
                       site->holders.end());
    site->holders[place] = index;
  }

  const ProcessMemory& memory_;
  std::vector<Weights> weights_;  // by site
  RowDigest digest_;
};

}  // namespace

RowDigest DigestRows(const ProcessMemory& memory, const ProcessSites& sites, int threads) {
  constexpr size_t kRowsWorthAThread = 50'000;
  const size_t rows = memory.row_count();
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  // Every thread has a table of all sites.
  const size_t most = rows / std::max(kRowsWorthAThread, 16 * sites.count());
  threads = static_cast<int>(std::clamp<size_t>(most, 1, static_cast<size_t>(threads)));
  std::vector<Digester> parts(static_cast<size_t>(threads), Digester(memory, sites));
  WorkOnThreads(parts.size(), [&](size_t part) {
    parts[part].AddRows(rows * part / parts.size(), rows * (part + 1) / parts.size());
  });
  for (size_t part = 1; part < parts.size(); ++part) parts[0].Add(parts[part]);
  return std::move(parts[0].digest());
}

}  // namespace plateau::process

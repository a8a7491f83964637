// What each call stack allocated, holds, and held when the process was at its peak.
//
// A row is one stack within one pool. The share of the peak is exact without a copy of all rows at every new
// maximum: a row remembers the peak it has last seen, and before it changes it notes what it held at the
// latest one.
//
// Amounts are weighted (doubles); in exact mode they are whole numbers below 2^53 and so exact.
#ifndef PLATEAU_ANALYZER_REPLAY_STACK_TOTALS_H_
#define PLATEAU_ANALYZER_REPLAY_STACK_TOTALS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/base/prefetch.h"
#include "analyzer/base/zeroed_array.h"
#include "analyzer/replay/stack_nodes.h"

namespace plateau::replay {

// Where bytes come from. kArena, kFile and kReserved are totals only: they have no rows, because what is
// inside arenas is counted by object, file pages belong to the page cache, and reserved address space is not
// memory.
enum class Pool : uint8_t { kHeap, kPython, kMmap, kShared, kArena, kFile, kReserved, kCount };
inline constexpr size_t kPools = static_cast<size_t>(Pool::kCount);
const char* PoolName(Pool pool);  // "host", "python", "mmap", "shared", "python arenas", "files", "reserved"
constexpr bool HasRows(Pool pool) { return pool < Pool::kArena; }

struct StackRow {
  uint32_t node = 0;  // canonical stack node; 0: no stack
  uint32_t site = 0;
  Pool pool = Pool::kHeap;
  uint32_t elsewhere = 0;  // the row of the same stack in another pool, plus 1; 0: none
  uint64_t peak_seen = 0;
  double live_bytes = 0;
  double live_count = 0;
  double peak_bytes = 0;  // valid when peak_seen is the latest peak, else live_bytes is
  double alloc_bytes = 0;
  double alloc_count = 0;
  double free_count = 0;
  double temporary_bytes = 0;  // born and freed in the same bucket
};

class StackTotals {
 public:
  // `nodes` of the trace.
  explicit StackTotals(size_t nodes) : index_(std::max<size_t>(nodes, 1)) {
    rows_.reserve(nodes + 1);
    AdviseHugePages(rows_.data(), rows_.capacity() * sizeof(StackRow));
  }

  StackRow& row(uint32_t index) { return rows_[index]; }
  const std::vector<StackRow>& rows() const { return rows_; }
  std::vector<StackRow> TakeRows() { return std::move(rows_); }

  // The row of a stack, made with the site that `site_of(pool, node)` gives when it is new. `nodes`
  // maps those of the trace to those that rows have; an unknown one is 0.
  template <typename SiteOf>
  [[gnu::always_inline]] uint32_t RowOf(Pool pool, uint32_t node, const StackNodes& nodes,
                                        const SiteOf& site_of) {
    if (node < index_.size()) [[likely]] {
      const uint32_t row = index_[node];
      if (row != 0 && rows_[row - 1].pool == pool) [[likely]]
        return row - 1;
    }
    return FarRowOf(pool, node, nodes, site_of);
  }

  // Load what a change needs into the cache before it is used: first where the row of the stack is noted,
  // then, some changes later, the row. Not worth it while there are few stacks.
  bool is_large() const { return rows_.size() > kLargeRows; }
  void PrefetchIndex(uint32_t node) {
    if (node < index_.size()) PrefetchForWriting(&index_[node]);
  }
  void PrefetchRow(uint32_t node) {
    if (node >= index_.size() || index_[node] == 0) return;
    const StackRow* row = &rows_[index_[node] - 1];
    PrefetchForWriting(row);
    PrefetchForWriting(reinterpret_cast<const char*>(row + 1) - 1);
  }

  // Changes what a row holds. `count` is 0 for a part of an object. True when there is more now than ever.
  bool Add(uint32_t index, double bytes, double count) {
    StackRow& r = Touch(index);
    r.live_bytes += bytes;
    r.live_count += count;
    live_bytes_ += bytes;
    if (live_bytes_ <= peak_bytes_) return false;
    peak_bytes_ = live_bytes_;
    ++peak_;
    return true;
  }
  void Remove(uint32_t index, double bytes, double count) {
    StackRow& r = Touch(index);
    r.live_bytes -= bytes;
    r.live_count -= count;
    live_bytes_ -= bytes;
  }

  double live_bytes() const { return live_bytes_; }
  double peak_bytes() const { return peak_bytes_; }

  // Makes peak_bytes of every row valid. Call once at the end.
  void SettlePeaks();

 private:
  static constexpr size_t kLargeRows = 4096;

  // A row that is new, of a node that is not canonical, or of a stack that allocates in several pools.
  template <typename SiteOf>
  [[gnu::noinline]] uint32_t FarRowOf(Pool pool, uint32_t node, const StackNodes& nodes,
                                      const SiteOf& site_of) {
    if (node >= index_.size()) node = 0;
    const uint32_t canonical = nodes.Canonical(node);
    uint32_t last = 0;
    for (uint32_t row = index_[canonical]; row != 0; row = rows_[row - 1].elsewhere) {
      index_[node] = index_[canonical];
      if (rows_[row - 1].pool == pool) return row - 1;
      last = row;
    }
    rows_.push_back({.node = canonical, .site = site_of(pool, canonical), .pool = pool});
    const auto row = static_cast<uint32_t>(rows_.size());
    (last == 0 ? index_[canonical] : rows_[last - 1].elsewhere) = row;
    index_[node] = index_[canonical];
    return row - 1;
  }

  StackRow& Touch(uint32_t index) {
    StackRow& r = rows_[index];
    if (r.peak_seen != peak_) {
      r.peak_bytes = r.live_bytes;
      r.peak_seen = peak_;
    }
    return r;
  }

  std::vector<StackRow> rows_;
  ZeroedArray<uint32_t> index_;  // by node: its first row + 1, 0 for none yet
  double live_bytes_ = 0;
  double peak_bytes_ = 0;
  uint64_t peak_ = 1;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_STACK_TOTALS_H_

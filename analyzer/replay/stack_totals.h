// What each call stack allocated, holds, and held when the process was at its peak.
//
// Finds the row of a stack within a pool by the stack's node, and knows what all rows hold together: that is
// what the peak is the largest of.
//
// Amounts are weighted (doubles); in exact mode they are whole numbers below 2^53 and so exact. Not
// thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_STACK_TOTALS_H_
#define PLATEAU_ANALYZER_REPLAY_STACK_TOTALS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "analyzer/base/prefetch.h"
#include "analyzer/base/zeroed_array.h"
#include "analyzer/replay/pool.h"
#include "analyzer/replay/stack_nodes.h"
#include "analyzer/replay/stack_rows.h"

namespace plateau::replay {

class StackTotals {
 public:
  // `nodes` of the trace.
  explicit StackTotals(size_t nodes) : index_(std::max<size_t>(nodes, 1)) { rows_.Reserve(nodes + 1); }

  const StackRows& rows() const { return rows_; }
  StackRows TakeRows() { return std::move(rows_); }

  // The row of a stack, made with the site that `site_of(pool, node)` gives when it is new. `nodes`
  // maps those of the trace to those that rows have; an unknown one is 0.
  template <typename SiteOf>
  [[gnu::always_inline]] uint32_t RowOf(Pool pool, uint32_t node, const StackNodes& nodes,
                                        const SiteOf& site_of) {
    if (node < index_.size()) [[likely]] {
      const uint32_t row = index_[node];
      if (row != 0 && rows_.pool(row - 1) == pool) [[likely]]
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
    if (node < index_.size() && index_[node] != 0) rows_.Prefetch(index_[node] - 1);
  }

  // A block of `bytes` that stands for `weight` like it came to a row. Not an object: a part of one, without
  // a count. True when there is more now than ever.
  bool Born(uint32_t row, uint64_t bytes, double weight, bool is_object) {
    rows_.Born(row, bytes, weight, is_object);
    return Grow(static_cast<double>(bytes) * weight);
  }
  void Died(uint32_t row, uint64_t bytes, double weight, bool is_object, bool is_temporary) {
    rows_.Died(row, bytes, weight, is_object, is_temporary);
    live_bytes_ -= static_cast<double>(bytes) * weight;
  }
  bool Apply(uint32_t row, const StackRows::Change& change) {
    rows_.Apply(row, change);
    return Grow(change.live_bytes);
  }
  // What rows hold now is what they will say they held in the end.
  void NoteRetained() { rows_.NoteRetained(); }

  double live_bytes() const { return live_bytes_; }
  double peak_bytes() const { return peak_bytes_; }

 private:
  static constexpr size_t kLargeRows = 4096;

  // A row that is new, of a node that is not canonical, or of a stack that allocates in several pools.
  template <typename SiteOf>
  [[gnu::noinline]] uint32_t FarRowOf(Pool pool, uint32_t node, const StackNodes& nodes,
                                      const SiteOf& site_of) {
    if (node >= index_.size()) node = 0;
    const uint32_t canonical = nodes.Canonical(node);
    uint32_t last = 0;
    for (uint32_t row = index_[canonical]; row != 0; row = rows_.link(row - 1)) {
      index_[node] = index_[canonical];
      if (rows_.pool(row - 1) == pool) return row - 1;
      last = row;
    }
    const uint32_t row = rows_.Add(pool, canonical, site_of(pool, canonical));
    if (last == 0) {
      index_[canonical] = row + 1;
    } else {
      rows_.Link(last - 1, row + 1);
    }
    index_[node] = index_[canonical];
    return row;
  }

  bool Grow(double bytes) {
    live_bytes_ += bytes;
    if (live_bytes_ <= peak_bytes_) return false;
    peak_bytes_ = live_bytes_;
    rows_.NotePeak();
    return true;
  }

  StackRows rows_;
  ZeroedArray<uint32_t> index_;  // by node: its first row + 1, 0 for none yet; others are linked to that
  double live_bytes_ = 0;
  double peak_bytes_ = 0;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_STACK_TOTALS_H_

// The rows of call stacks, each found by the stack's node and its pool. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_STACK_INDEX_H_
#define PLATEAU_ANALYZER_REPLAY_STACK_INDEX_H_

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

class StackIndex {
 public:
  // Of a trace with so many `nodes`, of which no more than about `rows` have a row. Room is made for the
  // fewer: a damaged trace may have a node of any number.
  StackIndex(size_t nodes, size_t rows) : index_(std::max<size_t>(nodes, 1)) {
    rows_.Reserve(std::min(nodes, rows) + 1);
  }

  StackRows& rows() { return rows_; }
  const StackRows& rows() const { return rows_; }
  StackRows TakeRows() { return std::move(rows_); }

  // The row of a stack, or a number that IsNoRow() where RowOf() has more to do than look.
  [[gnu::always_inline]] uint32_t FindRow(Pool pool, uint32_t node) const {
    uint32_t entry = 0;
    if (node < index_.size()) [[likely]]
      entry = index_[node];
    return entry - EntryOf(pool, 0);
  }
  static bool IsNoRow(uint32_t row) { return row >= kNoRow; }

  // The row of a stack, made with the site that `site_of(pool, node)` gives when it is new. `nodes`
  // maps those of the trace to those that rows have; an unknown one is 0.
  template <typename SiteOf>
  uint32_t RowOf(Pool pool, uint32_t node, const StackNodes& nodes, const SiteOf& site_of) {
    const uint32_t row = FindRow(pool, node);
    return !IsNoRow(row) ? row : FarRowOf(pool, node, nodes, site_of);
  }

  // Load what a change needs into the cache before it is used: first where the row of the stack is noted,
  // then, some changes later, the row. Not worth it while there are few stacks.
  bool is_large() const { return rows_.size() > kLargeRows; }
  void PrefetchIndex(uint32_t node) {
    if (node >= index_.size()) return;
    index_.Reach(node);
    PrefetchForWriting(&index_[node]);
  }
  void PrefetchRow(uint32_t node) {
    if (node < index_.size() && index_[node] != 0) rows_.Prefetch(RowOfEntry(index_[node]));
  }

 private:
  static constexpr size_t kLargeRows = 4096;
  static constexpr int kRowBits = 30;  // each of 2^28 nodes has one in each of four pools
  static constexpr uint32_t kNoRow = (uint32_t{1} << kRowBits) - 1;

  // What the index has of a row: its number and, above that, its pool, plus 1; 0 is that of no row. So that
  // what remains after subtracting the first of a pool is kNoRow or more if it is of another one, or none.
  static uint32_t EntryOf(Pool pool, uint32_t row) {
    return (static_cast<uint32_t>(pool) << kRowBits | row) + 1;
  }
  static uint32_t RowOfEntry(uint32_t entry) { return (entry - 1) & kNoRow; }

  // A row that is new, of a node that is not canonical, or of a stack that allocates in several pools.
  template <typename SiteOf>
  [[gnu::noinline]] uint32_t FarRowOf(Pool pool, uint32_t node, const StackNodes& nodes,
                                      const SiteOf& site_of) {
    if (node >= index_.size()) node = 0;
    const uint32_t canonical = nodes.Canonical(node);
    uint32_t last = 0;
    for (uint32_t row = index_[canonical] != 0 ? RowOfEntry(index_[canonical]) + 1 : 0; row != 0;
         row = rows_.link(row - 1)) {
      index_[node] = index_[canonical];
      if (rows_.pool(row - 1) == pool) return row - 1;
      last = row;
    }
    const uint32_t row = rows_.Add(pool, canonical, site_of(pool, canonical));
    if (last == 0) {
      index_[canonical] = EntryOf(pool, row);
    } else {
      rows_.Link(last - 1, row + 1);
    }
    index_[node] = index_[canonical];
    return row;
  }

  StackRows rows_;
  ZeroedArray<uint32_t>
      index_;  // by node: EntryOf() its first row, 0 for none yet; others are linked to that
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_STACK_INDEX_H_

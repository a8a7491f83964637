// The amounts of millions of stacks in little memory.
//
// Most stacks allocate few blocks: their amounts are small whole numbers, and a row of 32 bytes holds them. A
// row that they do not fit into, because they are large, fractions (sampling) or below zero (damage), goes on
// as a wide row of doubles; its 32 bytes say where that is. Nobody outside can tell the two apart: in exact
// mode amounts are whole numbers below 2^53, which both hold exactly.
//
// The share of the peak is exact without a copy of all rows at every new maximum: a row remembers the peak it
// has last seen, and before it changes it notes what it held at the latest one. What is retained is noted the
// same way.
//
// Rows are numbered from 0 in the order of Add(). Movable, not thread-safe; operator[] may be called on many
// threads while nothing changes.
#ifndef PLATEAU_ANALYZER_REPLAY_STACK_ROWS_H_
#define PLATEAU_ANALYZER_REPLAY_STACK_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/base/prefetch.h"
#include "analyzer/base/zeroed_array.h"
#include "analyzer/replay/definitions/pool.h"
#include "analyzer/replay/definitions/stack_nodes.h"
#include "analyzer/replay/site_tally.h"

namespace plateau::replay {

// One stack within one pool.
struct StackRow {
  uint32_t node = 0;  // canonical stack node; 0: no stack
  uint32_t site = 0;
  Pool pool = Pool::kHeap;
  double live_bytes = 0;
  double live_count = 0;
  double peak_bytes = 0;  // held when the process was at its peak
  double alloc_bytes = 0;
  double alloc_count = 0;
  double free_count = 0;
  double temporary_bytes = 0;  // born and freed in the same bucket
};

class StackRows {
 public:
  // What is added to a row.
  struct Change {
    double live_bytes = 0, live_count = 0, alloc_bytes = 0, alloc_count = 0, free_count = 0,
           temporary_bytes = 0;
  };

  // Tests begin near the end of the numbers that peaks have.
  explicit StackRows(uint32_t first_peak = 1) : moment_(first_peak), peak_(first_peak) {}

  // Room for so many rows: address space alone.
  void Reserve(size_t rows) { rows_.reserve(rows); }

  uint32_t Add(Pool pool, uint32_t node, uint32_t site) {
    rows_.push_back(
        {.node = node, .pool = static_cast<uint32_t>(pool), .is_wide = 0, .is_noted = 0, .site = site});
    return static_cast<uint32_t>(rows_.size() - 1);
  }

  size_t size() const { return rows_.size(); }
  Pool pool(uint32_t row) const { return static_cast<Pool>(rows_[row].pool); }
  uint32_t site(uint32_t row) const { return rows_[row].site; }
  // What it holds now, also after NoteRetained().
  double live_bytes(uint32_t row) const {
    return rows_[row].is_wide ? wide_[rows_[row].wide].live[kBytes] : rows_[row].live_bytes;
  }
  double live_count(uint32_t row) const {
    return rows_[row].is_wide ? wide_[rows_[row].wide].live[kObjects] : rows_[row].live_count();
  }
  // A row that this one was linked to; 0 is none.
  uint32_t link(uint32_t row) const { return rows_[row].is_wide ? wide_[rows_[row].wide].link : 0; }
  void Link(uint32_t row, uint32_t to);
  void Prefetch(uint32_t row) const { PrefetchForWriting(&rows_[row]); }

  // A block of `bytes` that stands for `weight` like it. Not an object: a part of one, without a count.
  void Born(uint32_t row, uint64_t bytes, double weight, bool is_object) {
    if (IsOne(bytes, weight) && TryBorn(row, static_cast<uint32_t>(bytes), is_object)) return;
    Widen(row);
    AddToWide(&rows_[row], AmountOf(static_cast<double>(bytes), weight, is_object));
  }
  void Died(uint32_t row, uint64_t bytes, double weight, bool is_object, bool is_temporary) {
    if (IsOne(bytes, weight) && TryDied(row, static_cast<uint32_t>(bytes), is_object, is_temporary)) return;
    Widen(row);
    TakeFromWide(&rows_[row], AmountOf(static_cast<double>(bytes), weight, is_object), is_temporary);
  }

  // The same for one that stands for itself, where additions will do; else nothing is done, and false.
  [[gnu::always_inline]] bool TryBorn(uint32_t row, uint32_t bytes, bool is_object) {
    Row& r = rows_[row];
    if (r.is_wide) {
      AddToWide(&r, AmountOf(bytes, 1, is_object));
      return true;
    }
    // What is live was allocated, so it fits as well.
    if (bytes > UINT32_MAX - r.alloc_bytes || (is_object && r.alloc_count() == UINT16_MAX)) [[unlikely]]
      return false;
    TouchNarrow(&r);
    r.alloc_bytes += bytes;
    r.live_bytes += bytes;
    if (is_object) r.counts += kOneAllocated + kOneLive;
    return true;
  }
  [[gnu::always_inline]] bool TryDied(uint32_t row, uint32_t bytes, bool is_object, bool is_temporary) {
    Row& r = rows_[row];
    if (r.is_wide) {
      TakeFromWide(&r, AmountOf(bytes, 1, is_object), is_temporary);
      return true;
    }
    // What is temporary was allocated and is not live, so it fits.
    if (bytes > r.live_bytes || (is_object && r.live_count() == 0)) [[unlikely]]
      return false;
    TouchNarrow(&r);
    r.live_bytes -= bytes;
    if (is_object) r.counts -= kOneLive;
    if (is_temporary) r.temporary_bytes += bytes;
    return true;
  }

  void Apply(uint32_t row, const Change& change);

  // The process holds more than ever: peak_bytes of every row is what it holds now. There must be room for
  // the number of that peak.
  void NotePeak() { peak_ = ++moment_; }
  void MakeRoomForPeaks(size_t peaks) {
    if (kLastMoment - moment_ <= peaks) RenumberMoments();
  }
  // live_bytes and live_count of every row stay as they are now, whatever comes. Once.
  void NoteRetained();

  StackRow operator[](size_t row) const {
    const Row& r = rows_[row];
    const bool has_seen_peak = r.seen >= peak_;
    StackRow out{.node = r.node, .site = r.site, .pool = static_cast<Pool>(r.pool)};
    if (r.is_wide) [[unlikely]] {
      const WideRow& w = wide_[r.wide];
      const Amount live = r.is_noted ? w.retained : w.live;
      out.live_bytes = live[kBytes];
      out.live_count = live[kObjects];
      out.peak_bytes = has_seen_peak ? w.peak_bytes : w.live[kBytes];
      out.alloc_bytes = w.alloc[kBytes];
      out.alloc_count = w.alloc[kObjects];
      out.free_count = w.ended[kObjects];
      out.temporary_bytes = w.ended[kBytes];
      return out;
    }
    const Retained live = r.is_noted ? RetainedOf(row) : Retained{r.live_bytes, r.live_count()};
    out.live_bytes = live.bytes;
    out.live_count = live.count;
    out.peak_bytes = has_seen_peak ? r.peak_bytes : r.live_bytes;
    out.alloc_bytes = r.alloc_bytes;
    out.alloc_count = r.alloc_count();
    out.free_count = r.alloc_count() - r.live_count();
    out.temporary_bytes = r.temporary_bytes;
    return out;
  }

  class Iterator {
   public:
    Iterator(const StackRows* rows, size_t row) : rows_(rows), row_(row) {}
    StackRow operator*() const { return (*rows_)[row_]; }
    Iterator& operator++() { return ++row_, *this; }
    bool operator==(const Iterator&) const = default;

   private:
    const StackRows* rows_;
    size_t row_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  static constexpr uint32_t kLastMoment = UINT32_MAX;

  // Frees are alloc_count() - live_count(). Aligned, so that it lies in one cache line.
  struct alignas(32) Row {
    uint32_t node : StackNodes::kNumberBits;
    uint32_t pool : 2;
    uint32_t is_wide : 1;
    uint32_t is_noted : 1;  // what is retained of it
    uint32_t site;
    uint32_t seen = 0;  // the latest moment before its last change
    union {
      uint32_t live_bytes = 0;
      uint32_t wide;  // where the amounts are, when is_wide
    };
    uint32_t peak_bytes = 0;  // valid when it has seen the latest peak, else live_bytes is
    uint32_t alloc_bytes = 0;
    uint32_t temporary_bytes = 0;
    uint32_t counts = 0;  // in one word: objects allocated, and above these objects live

    uint32_t alloc_count() const { return counts & 0xffff; }
    uint32_t live_count() const { return counts >> 16; }
  };
  static_assert(sizeof(Row) == 32);
  static constexpr uint32_t kOneAllocated = 1, kOneLive = 1 << 16;
  static_assert(!HasRows(static_cast<Pool>(4)), "two bits hold every pool that has rows");

  struct WideRow {
    Amount live{};
    Amount alloc{};
    Amount ended{};  // the bytes of those alone that were temporary
    double peak_bytes = 0;
    uint32_t link = 0;
    Amount retained{};  // of a row that is_noted
  };
  struct Retained {
    uint32_t bytes;
    uint32_t count;
  };

  static bool IsOne(uint64_t bytes, double weight) { return weight == 1 && bytes <= UINT32_MAX; }

  // Before any change: note what the row held at the latest peak, and what is retained of it.
  void TouchNarrow(Row* r) {
    if (r->seen == moment_) return;
    if (r->seen < peak_) r->peak_bytes = r->live_bytes;
    r->seen = moment_;
    if (has_retained_ && !r->is_noted) NoteRetained(r);
  }
  void TouchWide(Row* r, WideRow* w) {
    if (r->seen == moment_) return;
    if (r->seen < peak_) w->peak_bytes = w->live[kBytes];
    r->seen = moment_;
    if (has_retained_ && !r->is_noted) NoteRetained(r);
  }
  void NoteRetained(Row* r);
  [[gnu::always_inline]] void AddToWide(Row* r, const Amount& amount) {
    WideRow& w = wide_[r->wide];
    TouchWide(r, &w);
    w.alloc += amount;
    w.live += amount;
  }
  [[gnu::always_inline]] void TakeFromWide(Row* r, const Amount& amount, bool is_temporary) {
    WideRow& w = wide_[r->wide];
    TouchWide(r, &w);
    w.live -= amount;
    w.ended += is_temporary ? amount : Amount{0, amount[kObjects]};
  }
  void Touch(uint32_t row) {
    Row& r = rows_[row];
    r.is_wide ? TouchWide(&r, &wide_[r.wide]) : TouchNarrow(&r);
  }
  [[gnu::noinline]] void Widen(uint32_t row);
  [[gnu::noinline]] void RenumberMoments();
  Retained RetainedOf(size_t row) const { return row < retained_.size() ? retained_[row] : Retained{0, 0}; }

  std::vector<Row> rows_;
  std::vector<WideRow> wide_;
  ZeroedArray<Retained> retained_;  // by row: of those that were there at NoteRetained() and changed since
  bool has_retained_ = false;
  // Peaks, and NoteRetained(), are moments, numbered as they come.
  uint32_t moment_;
  uint32_t peak_;  // the latest that was one
};

// Finds the row of a call stack by the node and the pool. Not thread-safe.
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

#endif  // PLATEAU_ANALYZER_REPLAY_STACK_ROWS_H_

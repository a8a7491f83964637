// The amounts of millions of stacks in little memory.
//
// Most stacks allocate few blocks: their amounts are small whole numbers, and a row of 32 bytes holds them. A
// row that they do not fit into, because they are large, fractions (sampling) or below zero (damage), goes on
// as a wide row of doubles; its 32 bytes say where that is. Nobody outside can tell the two apart: in exact
// mode amounts are whole numbers below 2^53, which both hold exactly.
//
// The share of the peak is exact without a copy of all rows at every new maximum: a row remembers the peak it
// has last seen, and before it changes it notes what it held at the latest one.
//
// Rows are numbered from 0 in the order of Add(). Movable, not thread-safe; operator[] may be called on many
// threads while nothing changes.
#ifndef PLATEAU_ANALYZER_REPLAY_STACK_ROWS_H_
#define PLATEAU_ANALYZER_REPLAY_STACK_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/base/prefetch.h"
#include "analyzer/base/zeroed_array.h"
#include "analyzer/replay/pool.h"
#include "analyzer/replay/stack_nodes.h"

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
  explicit StackRows(uint32_t first_peak = 1) : peak_(first_peak) {}

  // Room for so many rows: address space alone.
  void Reserve(size_t rows) {
    rows_.reserve(rows);
    AdviseHugePages(rows_.data(), rows_.capacity() * sizeof(Row));
  }

  uint32_t Add(Pool pool, uint32_t node, uint32_t site) {
    rows_.push_back({.node = node, .pool = static_cast<uint32_t>(pool), .is_wide = 0, .site = site});
    return static_cast<uint32_t>(rows_.size() - 1);
  }

  size_t size() const { return rows_.size(); }
  Pool pool(uint32_t row) const { return static_cast<Pool>(rows_[row].pool); }
  uint32_t site(uint32_t row) const { return rows_[row].site; }
  // What it holds now, also after NoteRetained().
  double live_bytes(uint32_t row) const {
    return rows_[row].is_wide ? wide_[rows_[row].wide].live_bytes : rows_[row].live_bytes;
  }
  double live_count(uint32_t row) const {
    return rows_[row].is_wide ? wide_[rows_[row].wide].live_count : rows_[row].live_count;
  }
  // A row that this one was linked to; 0 is none.
  uint32_t link(uint32_t row) const { return rows_[row].is_wide ? wide_[rows_[row].wide].link : 0; }
  void Link(uint32_t row, uint32_t to);
  void Prefetch(uint32_t row) const { PrefetchForWriting(&rows_[row]); }

  // A block of `bytes` that stands for `weight` like it. Not an object: a part of one, without a count.
  void Born(uint32_t row, uint64_t bytes, double weight, bool is_object) {
    Row& r = Touch(row);
    if (!r.is_wide) {
      const uint32_t alloc_count = r.alloc_count + is_object;
      // What is live was allocated, so it fits as well.
      if (weight == 1 && bytes <= UINT32_MAX - r.alloc_bytes && alloc_count <= UINT16_MAX) [[likely]] {
        r.alloc_bytes += static_cast<uint32_t>(bytes);
        r.alloc_count = static_cast<uint16_t>(alloc_count);
        r.live_bytes += static_cast<uint32_t>(bytes);
        r.live_count = static_cast<uint16_t>(r.live_count + is_object);
        return;
      }
      Widen(row);
    }
    WideRow& w = wide_[r.wide];
    const double count = is_object ? weight : 0;
    w.alloc_bytes += static_cast<double>(bytes) * weight;
    w.alloc_count += count;
    w.live_bytes += static_cast<double>(bytes) * weight;
    w.live_count += count;
  }

  void Died(uint32_t row, uint64_t bytes, double weight, bool is_object, bool is_temporary) {
    Row& r = Touch(row);
    if (!r.is_wide) {
      // What is temporary was allocated and is not live, so it fits.
      if (weight == 1 && bytes <= r.live_bytes && is_object <= r.live_count) [[likely]] {
        r.live_bytes -= static_cast<uint32_t>(bytes);
        r.live_count = static_cast<uint16_t>(r.live_count - is_object);
        if (is_temporary) r.temporary_bytes += static_cast<uint32_t>(bytes);
        return;
      }
      Widen(row);
    }
    WideRow& w = wide_[r.wide];
    const double count = is_object ? weight : 0;
    w.live_bytes -= static_cast<double>(bytes) * weight;
    w.live_count -= count;
    w.free_count += count;
    if (is_temporary) w.temporary_bytes += static_cast<double>(bytes) * weight;
  }

  void Apply(uint32_t row, const Change& change);

  // The process holds more than ever: peak_bytes of every row is what it holds now.
  void NotePeak() {
    if (++peak_ == kLastPeak) RenumberPeaks();
  }
  // live_bytes and live_count of every row stay as they are now, whatever comes. Once.
  void NoteRetained();

  StackRow operator[](size_t row) const {
    const Row& r = rows_[row];
    const bool has_seen_peak = r.peak_seen == peak_;
    StackRow out{.node = r.node, .site = r.site, .pool = static_cast<Pool>(r.pool)};
    if (r.is_wide) [[unlikely]] {
      const WideRow& w = wide_[r.wide];
      out.live_bytes = has_retained_ ? w.retained_bytes : w.live_bytes;
      out.live_count = has_retained_ ? w.retained_count : w.live_count;
      out.peak_bytes = has_seen_peak ? w.peak_bytes : w.live_bytes;
      out.alloc_bytes = w.alloc_bytes;
      out.alloc_count = w.alloc_count;
      out.free_count = w.free_count;
      out.temporary_bytes = w.temporary_bytes;
      return out;
    }
    const Retained live = has_retained_ ? RetainedOf(row) : Retained{r.live_bytes, r.live_count};
    out.live_bytes = live.bytes;
    out.live_count = live.count;
    out.peak_bytes = has_seen_peak ? r.peak_bytes : r.live_bytes;
    out.alloc_bytes = r.alloc_bytes;
    out.alloc_count = r.alloc_count;
    out.free_count = r.alloc_count - r.live_count;
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
  static constexpr uint32_t kLastPeak = UINT32_MAX;

  // Frees are alloc_count - live_count. Aligned, so that it lies in one cache line.
  struct alignas(32) Row {
    uint32_t node : StackNodes::kNumberBits;
    uint32_t pool : 2;
    uint32_t is_wide : 1;
    uint32_t site;
    uint32_t peak_seen = 0;
    union {
      uint32_t live_bytes = 0;
      uint32_t wide;  // where the amounts are, when is_wide
    };
    uint32_t peak_bytes = 0;  // valid when peak_seen is the latest peak, else live_bytes is
    uint32_t alloc_bytes = 0;
    uint32_t temporary_bytes = 0;
    uint16_t alloc_count = 0;
    uint16_t live_count = 0;
  };
  static_assert(sizeof(Row) == 32);
  static_assert(!HasRows(static_cast<Pool>(4)), "two bits hold every pool that has rows");

  struct WideRow {
    double live_bytes = 0;
    double live_count = 0;
    double peak_bytes = 0;
    double alloc_bytes = 0;
    double alloc_count = 0;
    double free_count = 0;
    double temporary_bytes = 0;
    double retained_bytes = 0;  // when has_retained_, and here below as well
    double retained_count = 0;
    uint32_t link = 0;
  };
  struct Retained {
    uint32_t bytes;
    uint32_t count;
  };

  // Before any change: notes what the row held at the latest peak.
  Row& Touch(uint32_t row) {
    Row& r = rows_[row];
    if (r.peak_seen != peak_) {
      r.peak_seen = peak_;
      if (!r.is_wide) {
        r.peak_bytes = r.live_bytes;
      } else {
        wide_[r.wide].peak_bytes = wide_[r.wide].live_bytes;
      }
    }
    return r;
  }
  [[gnu::noinline]] void Widen(uint32_t row);
  [[gnu::noinline]] void RenumberPeaks();
  Retained RetainedOf(size_t row) const { return row < retained_.size() ? retained_[row] : Retained{0, 0}; }

  std::vector<Row> rows_;
  std::vector<WideRow> wide_;
  std::vector<Retained> retained_;  // by row: those there were at NoteRetained()
  bool has_retained_ = false;
  uint32_t peak_;  // number of the latest
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_STACK_ROWS_H_

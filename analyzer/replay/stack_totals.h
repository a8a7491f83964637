// What each call stack allocated, holds, and held when the process was at its peak.
//
// A row is one stack within one pool. The share of the peak is exact without a copy of all rows at every new
// maximum: a row remembers the peak it has last seen, and before it changes it notes what it held at the
// latest one.
//
// Amounts are weighted (doubles); in exact mode they are whole numbers below 2^53 and so exact.
#ifndef PLATEAU_ANALYZER_REPLAY_STACK_TOTALS_H_
#define PLATEAU_ANALYZER_REPLAY_STACK_TOTALS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

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
  StackRow& row(uint32_t index) { return rows_[index]; }
  const std::vector<StackRow>& rows() const { return rows_; }

  // The row of a stack, made by `make(pool, node)` -> site when it is new.
  template <typename SiteOf>
  uint32_t RowOf(Pool pool, uint32_t node, SiteOf&& site_of) {
    const auto [it, is_new] =
        index_.try_emplace(uint64_t{node} << 8 | static_cast<uint8_t>(pool), rows_.size());
    if (is_new) rows_.push_back({.node = node, .site = site_of(pool, node), .pool = pool});
    return it->second;
  }

  // Changes what a row holds. `count` is 0 for a part of an object.
  void Add(uint32_t index, double bytes, double count) {
    StackRow& r = Touch(index);
    r.live_bytes += bytes;
    r.live_count += count;
    live_bytes_ += bytes;
    if (live_bytes_ > peak_bytes_) {
      peak_bytes_ = live_bytes_;
      ++peak_;
    }
  }
  void Remove(uint32_t index, double bytes, double count) {
    StackRow& r = Touch(index);
    r.live_bytes -= bytes;
    r.live_count -= count;
    live_bytes_ -= bytes;
  }

  double live_bytes() const { return live_bytes_; }
  double peak_bytes() const { return peak_bytes_; }
  uint64_t peak_number() const { return peak_; }  // changes whenever there is a new maximum

  // Makes peak_bytes of every row valid. Call once at the end.
  void SettlePeaks();

 private:
  StackRow& Touch(uint32_t index) {
    StackRow& r = rows_[index];
    if (r.peak_seen != peak_) {
      r.peak_bytes = r.live_bytes;
      r.peak_seen = peak_;
    }
    return r;
  }

  std::vector<StackRow> rows_;
  absl::flat_hash_map<uint64_t, uint32_t> index_;
  double live_bytes_ = 0;
  double peak_bytes_ = 0;
  uint64_t peak_ = 1;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_STACK_TOTALS_H_

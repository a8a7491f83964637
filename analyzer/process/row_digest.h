// What a report needs of the rows of a process, found in one go over them: there may be millions, and few of
// them are looked at again.
//
// Deterministic: the number of threads does not change it. Of equals the row with the lower number is taken.
#ifndef PLATEAU_ANALYZER_PROCESS_ROW_DIGEST_H_
#define PLATEAU_ANALYZER_PROCESS_ROW_DIGEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/base/whole_number.h"
#include "analyzer/process/process_memory.h"
#include "analyzer/process/process_trace.h"
#include "analyzer/replay/stack_rows.h"

namespace plateau::process {

// The amounts of rows in whole numbers: everything above a row is a sum of these, so every total adds up.
struct RowAmounts {
  int64_t retained_bytes = 0, retained_count = 0, peak_bytes = 0, temporary_bytes = 0, alloc_bytes = 0,
          alloc_count = 0, free_count = 0;

  RowAmounts() = default;
  explicit RowAmounts(const replay::StackRow& row)
      : retained_bytes(Round(row.live_bytes)),
        retained_count(Round(row.live_count)),
        peak_bytes(Round(row.peak_bytes)),
        temporary_bytes(Round(row.temporary_bytes)),
        alloc_bytes(Round(row.alloc_bytes)),
        alloc_count(Round(row.alloc_count)),
        free_count(Round(row.free_count)) {}

  void Add(const RowAmounts& other, int sign = 1) {
    other.AddTo(this, sign);
    free_count += sign * other.free_count;
  }
  // To a row of the model, which may have no count of frees.
  template <typename Row>
  void AddTo(Row* row, int sign = 1) const {
    row->retained_bytes += sign * retained_bytes;
    row->retained_count += sign * retained_count;
    row->peak_bytes += sign * peak_bytes;
    row->temporary_bytes += sign * temporary_bytes;
    row->alloc_bytes += sign * alloc_bytes;
    row->alloc_count += sign * alloc_count;
  }
};

struct SiteRows {
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kHolders = 6;

  // The one that stands for the site: what holds most at the end, else at the peak, else what allocated most.
  uint32_t typical = kNone;
  // The one that decides the site's place in the report: by what it holds at the end and at the peak, then by
  // what it allocated.
  uint32_t largest = kNone;
  // Those with a stack that hold most at the end, the largest first; kNone behind them.
  std::array<uint32_t, kHolders> holders;
  // Of all rows of the host that have a stack.
  RowAmounts sum;
  uint32_t summed_rows = 0;
  int64_t held_bytes = 0;  // at the end, by all rows

  SiteRows() { holders.fill(kNone); }
};

struct RowDigest {
  std::vector<SiteRows> sites;
  std::vector<uint32_t> named_rows;  // those without a stack, those of devices; ascending
  std::array<bool, replay::kPools> has_pool{};
  int64_t retained_bytes = 0;    // of the host
  int64_t heap_alloc_bytes = 0;  // of the C heap
  int64_t heap_alloc_count = 0;
};

// With 0 `threads` there are as many as the machine has.
RowDigest DigestRows(const ProcessMemory& memory, const ProcessSites& sites, int threads);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_ROW_DIGEST_H_

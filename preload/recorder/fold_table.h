// Totals by stack, for the time when the trace has no room for events any more: bytes and counts, weighted.
//
// The rows are records in a ring slot of their own and are raised in place, so after a kill the file has the
// totals up to the last instruction. Their course goes into the trace too, so that the report has a curve and
// not only its end: rows are written at moments whose distance is a sixteenth of the time since folding
// began, at most as many as fit into 1/128 of the room that is left, those that changed most first. So a run
// of any length has room for its course. Blocks that find no row, or have no known stack, are counted under
// stack 0.
//
// Locks: one, for a bounded time; when it stays busy the call counts a drop. Allocates: never from the traced
// heap. Reentrancy: under the hook guard.
#ifndef PLATEAU_PRELOAD_RECORDER_FOLD_TABLE_H_
#define PLATEAU_PRELOAD_RECORDER_FOLD_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/base/spin_lock.h"
#include "preload/recorder/thread_buffer.h"
#include "preload/sampler/sample_set.h"
#include "preload/trace/format.h"

namespace plateau {

class FoldTable {
 public:
  constexpr FoldTable() = default;

  // Takes a slot. False when there is none, and then nothing can be folded.
  bool Begin();
  bool active() const { return active_.load(std::memory_order_acquire); }

  void Alloc(const SampledBlock& sample) {
    Add(sample, &trace::FoldRow::alloc_count_256, &trace::FoldRow::alloc_bytes);
  }
  void Free(const SampledBlock& sample) {
    Add(sample, &trace::FoldRow::free_count_256, &trace::FoldRow::free_bytes);
  }

  // Notes how many groups of steps (mark_thinning.h) went by since folding began.
  void SetGroups(uint64_t groups) {
    if (active()) __atomic_store_n(&rows_[1]->alloc_count_256, groups, __ATOMIC_RELAXED);
  }

  // Writes the totals into the trace when it is time.
  void MaybeWrite(ThreadBuffer* buffer) {
    if (active() && Now() >= next_tsc_.load(std::memory_order_relaxed)) Write(buffer);
  }

  // Before a recording begins, and in the child of a fork.
  void Reset();

 private:
  static constexpr size_t kMaxRows = trace::kSlotPayloadBytes / sizeof(trace::FoldRow);
  static constexpr size_t kIndex = 4096;

  void Add(const SampledBlock& sample, uint64_t trace::FoldRow::*count_256, uint64_t trace::FoldRow::*bytes);
  trace::FoldRow* RowOf(uint32_t stack);
  trace::FoldRow* NewRow(uint32_t stack);
  void Write(ThreadBuffer* buffer);
  uint64_t Change(size_t row) const;
  void WriteRow(ThreadBuffer* buffer, size_t row);

  SpinLock lock_;
  std::atomic<bool> active_{false};
  std::atomic<uint64_t> next_tsc_{0};
  std::atomic<bool> writing_{false};
  uint64_t begin_tsc_ = 0;
  ThreadBuffer* buffer_ = nullptr;
  std::atomic<size_t> row_count_{0};
  trace::FoldRow* rows_[kMaxRows] = {};
  uint64_t written_[kMaxRows] = {};  // alloc_bytes + free_bytes when the row was last written
  uint16_t index_[kIndex] = {};      // row + 1 by the hash of its stack
};

extern FoldTable g_folds;

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_FOLD_TABLE_H_

#include "preload/recorder/fold_table.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "preload/base/clock.h"
#include "preload/recorder/file/trace_sink.h"
#include "preload/recorder/mark_thinning.h"
#include "preload/recorder/recording.h"
#include "preload/recorder/size_limit.h"
#include "preload/sampler/sampler.h"

namespace plateau {
namespace {

constexpr uint64_t kFirstDistanceMs = 10;
constexpr uint64_t kDistanceShare =
    16;  // of the time since folding began: 11 moments in the second half of it
constexpr uint64_t kShareOfRoom = 128;
constexpr size_t kRowBytes = 30;  // of a FOLD_TOTALS, about
constexpr uint64_t kMinRows = 4;

// Raises a number of a row. A reader of the file may look at it meanwhile, so it is stored whole.
void Raise(uint64_t* number, uint64_t by) { __atomic_store_n(number, *number + by, __ATOMIC_RELAXED); }

}  // namespace

constinit FoldTable g_folds;
static_assert(std::is_trivially_destructible_v<FoldTable>);

bool FoldTable::Begin() {
  if (buffer_ != nullptr) return true;
  buffer_ = ThreadBuffer::Acquire();
  if (buffer_ == nullptr) return false;
  if (NewRow(0) == nullptr || NewRow(trace::kFoldRowOfGroups) == nullptr) return false;
  begin_tsc_ = Now();
  next_tsc_.store(begin_tsc_ + TicksOfMs(kFirstDistanceMs), std::memory_order_relaxed);
  active_.store(true, std::memory_order_release);
  return true;
}

void FoldTable::Reset() {
  lock_.Release();
  active_.store(false, std::memory_order_relaxed);
  writing_.store(false, std::memory_order_relaxed);
  if (buffer_ == nullptr) return;
  buffer_ = nullptr;  // in a forked child its slot is the parent's
  row_count_.store(0, std::memory_order_relaxed);
  std::memset(written_, 0, sizeof(written_));
  std::memset(index_, 0, sizeof(index_));
}

trace::FoldRow* FoldTable::NewRow(uint32_t stack) {
  const size_t row = row_count_.load(std::memory_order_relaxed);
  if (row == kMaxRows) return nullptr;
  rows_[row] = buffer_->writer().FoldTableRow(stack);
  if (rows_[row] == nullptr) return nullptr;
  row_count_.store(row + 1, std::memory_order_release);
  return rows_[row];
}

trace::FoldRow* FoldTable::RowOf(uint32_t stack) {
  if (stack == 0) return rows_[0];
  size_t at = stack * 2654435761u >> 20;
  for (; index_[at] != 0; at = (at + 1) % kIndex) {
    if (rows_[index_[at] - 1]->stack == stack) return rows_[index_[at] - 1];
  }
  trace::FoldRow* row = NewRow(stack);
  if (row == nullptr) return rows_[0];
  index_[at] = static_cast<uint16_t>(row_count_.load(std::memory_order_relaxed));
  return row;
}

void FoldTable::Add(const SampledBlock& sample, uint64_t trace::FoldRow::*count_256,
                    uint64_t trace::FoldRow::*bytes) {
  const double weight = WeightAt(sample.rate_level, sample.bytes);
  SpinLockHolder holder(lock_);
  if (!holder) return Drop(trace::DropReason::kContended, 1, sample.bytes);
  trace::FoldRow* row = RowOf(IsNamed(sample.stack) ? sample.stack : 0);
  Raise(&(row->*count_256), static_cast<uint64_t>(weight * 256 + 0.5));
  Raise(&(row->*bytes), static_cast<uint64_t>(weight * static_cast<double>(sample.bytes) + 0.5));
}

uint64_t FoldTable::Change(size_t row) const {
  return rows_[row]->alloc_bytes + rows_[row]->free_bytes - written_[row];
}

void FoldTable::WriteRow(ThreadBuffer* buffer, size_t row) {
  if (Change(row) == 0) return;
  const trace::FoldRow r = *rows_[row];
  buffer->Append([&](trace::BlockWriter& w) {
    return w.FoldTotals({r.stack, r.alloc_count_256, r.alloc_bytes, r.free_count_256, r.free_bytes});
  });
  written_[row] = r.alloc_bytes + r.free_bytes;
}

// Rows may be raised meanwhile; what is written was true at some moment of the call.
void FoldTable::Write(ThreadBuffer* buffer) {
  if (writing_.exchange(true, std::memory_order_acquire)) return;
  const uint64_t now = Now();
  const uint64_t distance = std::max((now - begin_tsc_) / kDistanceShare, TicksOfMs(kFirstDistanceMs));
  next_tsc_.store(now + distance, std::memory_order_relaxed);
  const size_t rows = row_count_.load(std::memory_order_acquire);
  const uint64_t room = g_sink.BytesLeft() / kShareOfRoom / kRowBytes;
  // Says how many steps went by up to here, so that totals and steps belong together.
  const uint64_t groups = g_mark_thinning.TakeLeftOut();
  if (room >= kMinRows || groups > 0) buffer->StampTime();
  if (groups > 0) {
    buffer->Append([&](trace::BlockWriter& w) {
      return w.Mark({trace::MarkKind::kMarksLeftOut, trace::MarkSource::kExplicit, groups, {}});
    });
  }
  if (room >= rows) {
    for (size_t row = 0; row < rows; ++row) WriteRow(buffer, row);
  } else {
    for (uint64_t left = room >= kMinRows ? room : 0; left > 0; --left) {
      size_t most = 0;
      for (size_t row = 1; row < rows; ++row) {
        if (Change(row) > Change(most)) most = row;
      }
      if (Change(most) == 0) break;
      WriteRow(buffer, most);
    }
  }
  writing_.store(false, std::memory_order_release);
}

}  // namespace plateau

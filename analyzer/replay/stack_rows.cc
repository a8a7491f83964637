#include "analyzer/replay/stack_rows.h"

#include <cmath>

namespace plateau::replay {
namespace {

bool IsWholeUpTo(double amount, double most) {
  return amount >= 0 && amount <= most && amount == std::floor(amount);
}

}  // namespace

void StackRows::Widen(uint32_t row) {
  Row& r = rows_[row];
  if (r.is_wide) return;
  const Retained retained = r.is_noted ? RetainedOf(row) : Retained{};
  const double live_count = r.live_count(), alloc_count = r.alloc_count();
  wide_.push_back(
      {.live = Amount{static_cast<double>(r.live_bytes), live_count},
       .alloc = Amount{static_cast<double>(r.alloc_bytes), alloc_count},
       .ended = Amount{static_cast<double>(r.temporary_bytes), alloc_count - live_count},
       .peak_bytes = static_cast<double>(r.peak_bytes),
       .retained = Amount{static_cast<double>(retained.bytes), static_cast<double>(retained.count)}});
  r.is_wide = 1;
  r.wide = static_cast<uint32_t>(wide_.size() - 1);
}

void StackRows::Link(uint32_t row, uint32_t to) {
  Widen(row);
  wide_[rows_[row].wide].link = to;
}

void StackRows::Apply(uint32_t row, const Change& change) {
  Touch(row);
  Row& r = rows_[row];
  if (!r.is_wide) {
    const double live_bytes = r.live_bytes + change.live_bytes;
    const double live_count = r.live_count() + change.live_count;
    const double alloc_bytes = r.alloc_bytes + change.alloc_bytes;
    const double alloc_count = r.alloc_count() + change.alloc_count;
    const double temporary_bytes = r.temporary_bytes + change.temporary_bytes;
    const bool fits = IsWholeUpTo(alloc_bytes, UINT32_MAX) && IsWholeUpTo(alloc_count, UINT16_MAX) &&
                      IsWholeUpTo(live_bytes, alloc_bytes) && IsWholeUpTo(live_count, alloc_count) &&
                      IsWholeUpTo(temporary_bytes, alloc_bytes - live_bytes) &&
                      change.free_count == change.alloc_count - change.live_count;
    if (fits) {
      r.live_bytes = static_cast<uint32_t>(live_bytes);
      r.alloc_bytes = static_cast<uint32_t>(alloc_bytes);
      r.counts =
          static_cast<uint32_t>(alloc_count) * kOneAllocated + static_cast<uint32_t>(live_count) * kOneLive;
      r.temporary_bytes = static_cast<uint32_t>(temporary_bytes);
      return;
    }
    Widen(row);
  }
  WideRow& w = wide_[r.wide];
  w.live += Amount{change.live_bytes, change.live_count};
  w.alloc += Amount{change.alloc_bytes, change.alloc_count};
  w.ended += Amount{change.temporary_bytes, change.free_count};
}

// As if every row had seen the latest moment, which is the first from here on.
void StackRows::RenumberMoments() {
  for (uint32_t row = 0; row < rows_.size(); ++row) {
    Touch(row);
    rows_[row].seen = 1;
  }
  moment_ = 1;
  peak_ = 1;
}

void StackRows::NoteRetained() {
  retained_ = ZeroedArray<Retained>(rows_.size());
  has_retained_ = true;
  ++moment_;  // so that each row is touched once more
}

void StackRows::NoteRetained(Row* r) {
  r->is_noted = 1;
  if (r->is_wide) {
    WideRow& w = wide_[r->wide];
    w.retained = w.live;
    return;
  }
  const size_t row = static_cast<size_t>(r - rows_.data());
  if (row >= retained_.size()) return;  // it came later
  retained_[row] = {r->live_bytes, r->live_count()};
}

}  // namespace plateau::replay

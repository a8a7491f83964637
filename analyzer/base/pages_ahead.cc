#include "analyzer/base/pages_ahead.h"

#include <sys/mman.h>

#include <algorithm>

namespace plateau {
namespace {

constexpr uintptr_t kPageBytes = 4096;

// Whole pages alone. Before Linux 5.14 it fails, and touching does what it always did.
void Populate(uintptr_t begin, uintptr_t end) {
  begin = (begin + kPageBytes - 1) / kPageBytes * kPageBytes;
  end = end / kPageBytes * kPageBytes;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
}

}  // namespace

void PagesAhead::MakeReady(uintptr_t place) {
  uintptr_t ready = ready_.load(std::memory_order_relaxed);
  uintptr_t next;
  bool is_jump;
  do {
    if (place < ready) return;  // by another thread
    is_jump = place - ready > kLongestStep;
    next = place / kPageBytes * kPageBytes + (is_jump ? kPageBytes : kPieceBytes);
    if (next >= end_) next = kNever;
  } while (!ready_.compare_exchange_weak(ready, next, std::memory_order_relaxed));
  if (!is_jump) Populate(ready, std::min(next, end_));
}

void PagesAhead::UseAllBefore(const void* end) {
  const uintptr_t next = std::min(reinterpret_cast<uintptr_t>(end), end_);
  uintptr_t ready = ready_.load(std::memory_order_relaxed);
  do {
    if (next <= ready) return;
  } while (!ready_.compare_exchange_weak(ready, next, std::memory_order_relaxed));
  Populate(ready, next);
}

}  // namespace plateau

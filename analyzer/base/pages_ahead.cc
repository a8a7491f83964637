#include "analyzer/base/pages_ahead.h"

#include <sys/mman.h>

#include <algorithm>

namespace plateau {

void PagesAhead::Begin(const void* memory, size_t bytes) {
  const std::lock_guard lock(mutex_);
  begin_ = reinterpret_cast<uintptr_t>(memory);
  next_ = begin_;
  end_ = begin_ + bytes;
  Use(memory);
}

bool PagesAhead::Prepare() {
  uintptr_t page;
  {
    const std::lock_guard lock(mutex_);
    const uintptr_t used = used_.load(std::memory_order_relaxed);
    if (used < begin_ + kWorthIt) return false;
    page = std::max(next_, (used + kPageBytes - 1) / kPageBytes * kPageBytes);
    if (page > used + kDistance || page >= end_ || end_ - page < kPageBytes) return false;
    next_ = page + kPageBytes;
  }
  if (madvise(reinterpret_cast<void*>(page), kPageBytes, MADV_POPULATE_WRITE) == 0) return true;
  const std::lock_guard lock(mutex_);
  if (page >= begin_ && page < end_) end_ = begin_;  // it will not work with the next one either
  return false;
}

}  // namespace plateau

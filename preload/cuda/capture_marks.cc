#include "preload/cuda/capture_marks.h"

#include <type_traits>

namespace plateau::cuda {

static_assert(std::is_trivially_destructible_v<CaptureMarks>);

void CaptureMarks::Begin(const void* stream, bool all_threads, const void* thread) {
  for (Mark& mark : marks_) {
    bool free = false;
    if (!mark.used.compare_exchange_strong(free, true, std::memory_order_acq_rel)) continue;
    mark.stream.store(stream, std::memory_order_relaxed);
    mark.thread.store(all_threads ? nullptr : thread, std::memory_order_relaxed);
    mark.ready.store(true, std::memory_order_release);
    active_.fetch_add(1, std::memory_order_release);
    return;
  }
}

void CaptureMarks::End(const void* stream) {
  if (active_.load(std::memory_order_acquire) == 0) return;
  for (Mark& mark : marks_) {
    bool ready = true;
    if (!mark.ready.load(std::memory_order_acquire) || mark.stream.load(std::memory_order_relaxed) != stream)
      continue;
    if (!mark.ready.compare_exchange_strong(ready, false, std::memory_order_acq_rel)) continue;
    mark.used.store(false, std::memory_order_release);
    active_.fetch_sub(1, std::memory_order_release);
    return;
  }
}

bool CaptureMarks::IsCapturing(const void* thread) const {
  if (active_.load(std::memory_order_acquire) == 0) return false;
  for (const Mark& mark : marks_) {
    if (!mark.ready.load(std::memory_order_acquire)) continue;
    const void* owner = mark.thread.load(std::memory_order_relaxed);
    if (owner == nullptr || owner == thread) return true;
  }
  return false;
}

}  // namespace plateau::cuda

// Which streams are capturing a CUDA graph right now, so that memory obtained meanwhile can be marked as the
// graph's own.
//
// A capture in global mode (torch's default) marks every thread's allocations: the backward pass of a
// captured step runs on another thread, and unrelated allocations would invalidate such a capture anyway. In
// the other modes only the thread that began the capture is marked. A capture may be ended by another thread
// than the one that began it.
//
// Allocates: never. Locks: never. Throws: never. More than kMaxCaptures at once: the further ones go
// unmarked.
#ifndef PLATEAU_PRELOAD_CUDA_CAPTURE_MARKS_H_
#define PLATEAU_PRELOAD_CUDA_CAPTURE_MARKS_H_

#include <atomic>

namespace plateau::cuda {

class CaptureMarks {
 public:
  static constexpr int kMaxCaptures = 32;

  void Begin(const void* stream, bool all_threads, const void* thread);
  void End(const void* stream);

  // True if memory that `thread` obtains now belongs to a graph.
  bool IsCapturing(const void* thread) const;

 private:
  struct Mark {
    std::atomic<bool> used{false};
    std::atomic<bool> ready{false};
    std::atomic<const void*> stream{nullptr};
    std::atomic<const void*> thread{nullptr};  // null: all threads
  };
  std::atomic<int> active_{0};
  Mark marks_[kMaxCaptures];
};

}  // namespace plateau::cuda

#endif  // PLATEAU_PRELOAD_CUDA_CAPTURE_MARKS_H_

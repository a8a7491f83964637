// How one event is written, for the hooks and for tracer.cc. Parts use tracer.h instead.
//
//   EventScope scope;                       // guard, and the thread's buffer
//   if (scope) scope.buffer()->Append(...)
//
// A nested scope is false and counts a drop unless the nesting is ours. Ended threads write into the shared
// buffer.
#ifndef PLATEAU_PRELOAD_RECORDER_EVENT_H_
#define PLATEAU_PRELOAD_RECORDER_EVENT_H_

#include <cstddef>
#include <cstdint>

#include "preload/recorder/recording.h"
#include "preload/recorder/stack_capture.h"
#include "preload/recorder/thread_buffer.h"
#include "preload/recorder/thread_state.h"
#include "preload/sampler/sample_set.h"
#include "preload/unwind/registers.h"

namespace plateau {

// Gives back what BufferFor() lent. Only the buffer that ended threads share needs it.
inline void ReleaseBuffer(ThreadState& t) {
  if (t.ended) [[unlikely]]
    GiveBackSharedBuffer(t);
}

// Allocation events. `frame` is the hook's own: the program's call is its caller.
void RecordAlloc(ThreadState& t, const void* p, size_t bytes, const void* frame);
void RecordFree(ThreadState& t, const void* p);

// The buffer of a thread whose events are all recorded without asking anybody; null when the sampler or the
// size limit must be asked, and for an ended thread.
inline ThreadBuffer* BufferForAll(const ThreadState& t) {
  return g_gate.records_all.load(std::memory_order_relaxed) == 1 ? t.buffer : nullptr;
}

// A free outside of hooks that is one event of many: everything is recorded, there is room, and no time stamp
// is due. False means that it is not that simple and that nothing was done; the caller then goes the whole
// way. The function is half of a HookScope: it leaves the thread's counters pointer alone, because nothing
// that it calls could allocate, and that saves two stores on the hottest path of exact mode.
[[gnu::always_inline]] inline bool RecordPlainFree(ThreadState& t, const void* p) {
  ThreadBuffer* buffer = BufferForAll(t);
  if (buffer == nullptr || t.depth != 0) return false;
  t.depth = 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  trace::BlockWriter* writer = buffer->WriterForPlainEvent(0);
  if (writer != nullptr) [[likely]] {
    writer->PutFree({reinterpret_cast<uintptr_t>(p), /*is_realloc=*/false}, 0);
    trace::Totals* totals = buffer->totals();
    ++totals->free_calls;
    ++totals->recorded_frees;
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t.depth = 0;
  return writer != nullptr;
}

// A realloc is two events. BeginRealloc() records the end of the old block before the real call, because its
// address may be another thread's a moment later; EndRealloc() records the new block, or takes the end back
// when the call has failed.
struct ReallocEvent {
  bool recording;
  bool record_new;      // the new block is chosen to be recorded
  bool had_old;         // the old block was in the trace
  bool linked;          // the FREE says that an ALLOC or a cancel follows
  bool folded_old;      // the old block is in the totals
  bool unrecorded_old;  // the old block was left out of a sample of exact mode
  SampledBlock old;
};
ReallocEvent BeginRealloc(ThreadState& t, const void* p, size_t bytes);
void EndRealloc(ThreadState& t, const ReallocEvent& event, const void* old_p, const void* new_p, size_t bytes,
                const void* frame);

// Notes the signal that ended a child. Programs wait in handlers of SIGCHLD too: inside a hook nothing is written, and a
// drop is counted.
void RecordEndedChild(long child, int signal);

// Counts a call that found its thread inside a hook already, unless that hook made it.
void CountNested(ThreadState& t, size_t bytes);

// The stack of an event; 0 for an ended thread.
inline uint32_t StackOf(ThreadState& t, const unwind::Registers& registers) {
  return t.ended ? 0 : CaptureStack(registers);
}

// The buffer for an event of a thread that is inside its hook; null when nothing is recorded. An event of
// `bytes` that is lost because there is no buffer has been counted. ReleaseBuffer() after use.
ThreadBuffer* BufferForSlow(ThreadState& t, uint64_t bytes);
inline ThreadBuffer* BufferFor(ThreadState& t, uint64_t bytes) {
  if (g_gate.live.load(std::memory_order_relaxed) == 1 && t.buffer != nullptr) [[likely]]
    return t.buffer;
  return BufferForSlow(t, bytes);
}

class EventScope {
 public:
  EventScope() : t_(t_thread), hook_(t_) {
    if (hook_) {
      buffer_ = BufferFor(t_, 0);
    } else {
      CountNested(t_, 0);
    }
  }
  ~EventScope() {
    if (buffer_ != nullptr) ReleaseBuffer(t_);
  }
  EventScope(const EventScope&) = delete;
  EventScope& operator=(const EventScope&) = delete;
  explicit operator bool() const { return buffer_ != nullptr; }
  ThreadBuffer* buffer() { return buffer_; }
  ThreadState& thread() { return t_; }

 private:
  ThreadState& t_;
  const HookScope hook_;
  ThreadBuffer* buffer_ = nullptr;
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_EVENT_H_

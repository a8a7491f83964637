// One thread's stream of records: an open block in a ring slot, written out when it is full.
//
//   buffer->Append([&](trace::BlockWriter& w) { return w.Mark(record); });
//
// Append() runs the writer's call; when the block has no room left it is sealed, copied to the file and begun
// anew, and the call is made again. So a record is written once, whole, and a kill at any instruction leaves
// it readable.
//
// Reentrancy: only under the hook guard of the owning thread (the shared buffer: under its lock).
// Allocates: never from the traced heap. Locks: never. errno is not touched.
// Lifetime: made at a thread's first event, given back when the thread ends, then used by the next thread.
#ifndef PLATEAU_PRELOAD_RECORDER_THREAD_BUFFER_H_
#define PLATEAU_PRELOAD_RECORDER_THREAD_BUFFER_H_

#include <algorithm>
#include <cstdint>

#include "preload/base/clock.h"
#include "preload/sampler/sampler.h"
#include "preload/trace/encoder.h"
#include "preload/trace/format.h"
#include "preload/unwind/capture.h"

namespace plateau {

struct ThreadState;

class ThreadBuffer {
 public:
  // Exact mode stamps every 32nd event and every event of 4 KiB or more: a stamp costs as much as the event,
  // and the order of streams needs one now and then. A lone stream is ordered by itself, so it skips stamps
  // that follow each other within 200 us.
  static constexpr uint32_t kEventsPerTime = 32;
  static constexpr uint64_t kTimedBytes = 4096;
  static constexpr uint64_t kQuickUs = 200;

  // A buffer with a slot and a new stream; null when there is no slot or no memory.
  static ThreadBuffer* Acquire();
  // Writes the open block out (where nobody may, it stays in its slot for good), adds the counters to those of ended threads and frees the slot.
  static void Release(ThreadBuffer* buffer);
  // In a forked child: all buffers of the parent are forgotten.
  static void ResetInChild();
  // The thread that uses it.
  void BelongTo(ThreadState* owner) { owner_ = owner; }
  // After a recording has ended, before the next: takes all buffers back from threads that live on. False, and nothing is
  // changed, when one of them stays inside a hook.
  static bool TakeBack(ThreadState& self);

  template <typename Call>
  bool Append(Call call) {
    if (call(writer_)) [[likely]]
      return true;
    Flush();
    return call(writer_);
  }

  // The writer for PutAlloc() and PutFree() when the next event needs no time stamp and there is room for it;
  // otherwise null, and nothing has changed.
  trace::BlockWriter* WriterForPlainEvent(uint64_t bytes) {
    if (events_until_time_ == 1 || bytes >= kTimedBytes || !writer_.HasHotRoom()) [[unlikely]]
      return nullptr;
    --events_until_time_;
    return &writer_;
  }

  // The time stamp for an event of `bytes`, 0 when it needs none.
  uint64_t TimeFor(uint64_t bytes) {
    if (--events_until_time_ != 0 && bytes < kTimedBytes) [[likely]]
      return 0;
    return DueTime();
  }
  // Puts the current time in front of a record that has no time of its own. The stamp is later than anything
  // before it, so that what stands in front of a mark belongs to the step that the mark ends.
  void StampTime() {
    events_until_time_ = kEventsPerTime;
    const uint64_t now = std::max(Now(), writer_.last_tsc() + 1);
    last_time_ = now;
    Append([now](trace::BlockWriter& w) { return w.Time(now); });
  }

  // Seals and writes the open block, if it holds anything, and begins the next. When it cannot be written,
  // its events are dropped and counted; definitions, marks and the like are carried over into the next block. Where a seccomp
  // filter forbids writing, the block stays as it is, and what does not fit into it is counted.
  void Flush();

  // The unwinder's memory of this thread. Asks the C library for the bounds of the stack the first time.
  unwind::ThreadCapture& capture() {
    if (!capture_is_ready_) [[unlikely]]
      PrepareCapture();
    return capture_;
  }

  GapRandom& random() { return random_; }
  // Draws the countdown of the next gap and keeps the mean that it was drawn with.
  int64_t DrawGap(uint64_t mean_bytes) {
    gap_mean_bytes_ = mean_bytes;
    return static_cast<int64_t>(random_.Gap(mean_bytes));
  }
  uint64_t gap_mean_bytes() const { return gap_mean_bytes_; }
  trace::Totals* totals() { return &slot_->totals; }
  uint32_t stream() const { return slot_->stream; }
  trace::BlockWriter& writer() { return writer_; }

 private:
  static ThreadState* LivingOwner(const ThreadBuffer* buffer);
  void KeepDefinitions();
  void PrepareCapture();
  uint64_t DueTime();
  uint8_t* payload() { return reinterpret_cast<uint8_t*>(block_ + 1); }

  trace::BlockWriter writer_;
  trace::SlotHeader* slot_;
  trace::BlockHeader* block_;
  GapRandom random_;
  uint64_t gap_mean_bytes_;
  uint64_t last_time_;
  uint32_t events_until_time_;
  bool capture_is_ready_;
  ThreadBuffer* next_free_;
  ThreadBuffer* next_made_;
  ThreadState* owner_;
  uint32_t owner_thread_id_;
  unwind::ThreadCapture capture_;
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_THREAD_BUFFER_H_

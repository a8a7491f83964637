// The life of a recording in this process: whether it runs, at which rate, and what happens at its turning
// points.
//
//   kBoot --constructor--> kRecording --fork--> (child) kForked --first event--> kRecording
//     |                        |                            \--PLATEAU_FOLLOW=0--> kOff
//     `--PLATEAU_MODE=off------+--the trace cannot be created--> kOff
//
// g_gate.live says the same to the hooks. Everything here is called under the hook guard. Allocates: never
// from the traced heap. errno is not touched.
#ifndef PLATEAU_PRELOAD_RECORDER_RECORDING_H_
#define PLATEAU_PRELOAD_RECORDER_RECORDING_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "preload/base/options.h"
#include "preload/recorder/thread_buffer.h"
#include "preload/recorder/thread_state.h"
#include "preload/trace/format.h"

namespace plateau {

enum class Phase : uint8_t { kBoot, kStarting, kRecording, kForked, kOff };
extern std::atomic<Phase> g_phase;

// How requests are chosen now. In exact mode exact_from is 0.
struct Rate {
  std::atomic<uint64_t> exact_from;
  std::atomic<uint64_t> sample_bytes;
  std::atomic<uint32_t> coarsened;         // how often the size limit made it coarser
  std::atomic<bool> full;                  // only totals, the ledger, marks and counters go on
  std::atomic<uint64_t> definition_bytes;  // since full
  // Not 0: the room for new stacks is used up; this node and those above are not in the trace.
  std::atomic<uint32_t> first_unnamed_stack;
};
extern Rate g_rate;

// The constructor's work.
void StartProcess(char** environment);

// Whether this process records, after taking care of a fork that has not been noticed yet.
bool Awake(ThreadState& t);
inline bool IsRecording(ThreadState& t) {
  return g_gate.live.load(std::memory_order_relaxed) == 1 || Awake(t);
}

// The calling thread's buffer, made now if need be; null (and one drop counted by the caller) when there is
// none.
ThreadBuffer* MakeBuffer(ThreadState& t);

// A block from before the recording: reported when it starts, and given back to libc if need be.
void RememberEarlyBlock(const void* p, uint64_t bytes);

// The buffer that ended threads share; null when its lock is busy. GiveBackSharedBuffer() after use.
ThreadBuffer* BorrowSharedBuffer(ThreadState& t);
void GiveBackSharedBuffer(ThreadState& t);

void Drop(trace::DropReason reason, uint64_t events, uint64_t bytes);

// What a block of `bytes` that was chosen at that level of g_rate.coarsened stands for.
double WeightAt(uint32_t level, uint64_t bytes);

// After a block was written: makes the sampling coarser when the trace approaches its limit. In exact mode
// the frees of what was recorded must all follow, so its traces still grow, slower. At 15/16 of the limit
// events are folded into totals, which a RATE record with Mode::kFolded says (kOff when there is no slot for
// them); in default mode that takes thousands of times as long as the first half did (docs/recording.md has
// the sum).
void KeepSizeLimit(ThreadBuffer* buffer);

// What is kept for marks and definitions when events end: a sixteenth, and a few blocks of small traces.
inline uint64_t RoomBesideEvents(uint64_t limit_bytes) {
  constexpr uint64_t kFewBlocks = 4 * trace::kSlotBytes;
  const uint64_t beside_ring = limit_bytes > trace::kExtentBytes ? limit_bytes - trace::kExtentBytes : 0;
  return std::max(limit_bytes / 16, std::min(beside_ring / 4, kFewBlocks));
}

// While the trace holds totals: `bytes` of a definition were written. Stacks may have a quarter of the room;
// their table forgets, so some are defined again and again.
void NoteDefinition(size_t bytes);

// Whether the stack has a name in the trace.
inline bool IsNamed(uint32_t stack) {
  const uint32_t first = g_rate.first_unnamed_stack.load(std::memory_order_relaxed);
  return first == 0 || stack < first;
}

// Sum of the exact counters of all threads.
trace::Totals ProcessTotals();

// An orderly end (destructor, _exit): everything is in the file or the ring, unused space is given back.
void FinishProcess();

// In the child of fork(): called by pthread_atfork; children made otherwise are found by Awake().
void OnForkChild();

// True in the child of a fork that has not become another program.
bool IsForkedChild();
// True when this child was made by fork(), so that libc's own locks are in order.
bool ForkWasOrderly();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_RECORDING_H_

// The life of a recording in this process: whether it runs, and what happens at its turning points.
//
//   kBoot --constructor--> kRecording --fork--> (child) kForked --first event--> kRecording
//     |                        |                            \--PLATEAU_FOLLOW=0--> kOff
//     `--PLATEAU_MODE=off------+--the trace cannot be created--> kOff
//
// A program that is attached to goes kBoot -> kRecording by StartLate() and back to kOff by StopLate(), any number of times.
// g_gate.live says the same to the hooks. Everything here is called under the hook guard. Allocates: never
// from the traced heap. errno is not touched.
#ifndef PLATEAU_PRELOAD_RECORDER_RECORDING_H_
#define PLATEAU_PRELOAD_RECORDER_RECORDING_H_

#include <atomic>
#include <cstdint>
#include <string_view>

#include "preload/base/options.h"
#include "preload/recorder/thread_buffer.h"
#include "preload/recorder/thread_state.h"
#include "preload/trace/format.h"

namespace plateau {

enum class Phase : uint8_t { kBoot, kStarting, kRecording, kForked, kOff };
extern std::atomic<Phase> g_phase;

// Starts everything; called by the constructor of the library.
void StartProcess(char** environment);
// Records nothing for good, and says why; in place of StartProcess().
void StayOut(char** environment, std::string_view why);

// Begins a recording in a program that runs already, in place of StartProcess(); again after StopLate(). No hook is in
// the program when it is called. `options` are strings "NAME=value" of options.inc, null at the end.
enum class LateStart : uint8_t {
  kStarted,
  kRecordsAlready,
  kThreadInside,  // a thread has not come out of a hook of the last recording; nothing was changed
  kNoTrace,
};
LateStart StartLate(char** options);
// Ends it in an orderly way: parts take out their hooks, the trace gets its last samples, its memory is no longer the
// file. On a tick, guard held. Calls that are under way find the gate closed.
void StopLate(ThreadState& t);
// 1 for the first recording of this process.
uint32_t RecordingNumber();

// Whether this process records, after taking care of a fork that has not been noticed yet.
bool Awake(ThreadState& t);
inline bool IsRecording(ThreadState& t) {
  return g_gate.live.load(std::memory_order_relaxed) == 1 || Awake(t);
}

// Makes the calling thread's buffer. Null when there is none to be had; the caller counts the drop.
ThreadBuffer* MakeBuffer(ThreadState& t);

// Remembers a block from before the recording (early_blocks.h).
void RememberEarlyBlock(const void* p, uint64_t bytes);

// Lends the buffer that ended threads share, until GiveBackSharedBuffer(). Null when its lock is busy.
ThreadBuffer* BorrowSharedBuffer(ThreadState& t);
void GiveBackSharedBuffer(ThreadState& t);

void Drop(trace::DropReason reason, uint64_t events, uint64_t bytes);

// The sum of the exact counters of all threads.
trace::Totals ProcessTotals();

// Notes an orderly end (destructor, _exit). Everything is in the file or the ring by then, so this only marks
// the header and gives unused space back.
void FinishProcess();

// Ends the recording after somebody cut the trace file under its mappings, and says so. From a signal handler. False when
// the mappings could not be replaced.
bool LoseTrace();

// Called by libc in the child of fork(). Children that are made otherwise are noticed by Awake().
void OnForkChild();

// True in the child of a fork that has not become another program.
bool IsForkedChild();
// True when this child was made by fork(), so that libc's own locks are in order.
bool ForkWasOrderly();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_RECORDING_H_

// What the parts of the shim may ask of the recorder: torch, Python, marks and the device ABI call these.
//
// Every function may be called from any thread at any moment, also from inside a hook, before the trace is
// open and in a forked child; what cannot be recorded then is dropped (and counted where it was an event).
// Reentrancy: a call that interrupts one of ours on the same thread, as in a signal handler, records nothing.
// Allocates: never. Locks: tried, never waited for without a bound. Throws: never. errno is left as it was.
#ifndef PLATEAU_PRELOAD_RECORDER_TRACER_H_
#define PLATEAU_PRELOAD_RECORDER_TRACER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "preload/trace/format.h"

namespace plateau {

// True while this process records. False before the constructor, in a child that is not followed, after an
// error that ended the recording.
bool Enabled();

// True when the calling thread is inside a hook or holds a HookGuard: its allocations are ours, not the
// program's.
bool InHook();

// Marks a region whose allocations, maps and frees on this thread are not the program's (calls into dlsym,
// the interpreter, ...). Nests.
class HookGuard {
 public:
  HookGuard();
  ~HookGuard();
  HookGuard(const HookGuard&) = delete;
  HookGuard& operator=(const HookGuard&) = delete;
};

// Records a point of the training clock. kStep, kExplicitStep and kEpoch also take a ledger sample (rate
// limited).
void RecordMark(trace::MarkKind kind, trace::MarkSource source, uint64_t value, std::string_view name);

// How many marks of steps there were in this process.
uint64_t StepMarksSoFar();

// Says that the live host block at `p` is, or is no longer, a tensor's storage. Blocks that sampling left out
// are ignored.
void TagTensor(const void* p, size_t bytes);
void UntagTensor(const void* p);

// The place in the program that caused a mark: the node of the stack that starts at the caller of the
// function with frame address `frame` (HookFrame()); 0 when there is none. Two optimizers are
// told apart by the lines that call them, and so are the training and the evaluation loop of a DataLoader.
uint32_t CaptureMarkSite(const void* frame);

// Records one line about a part: RecordInfo("torch", "1.13.1, steps from RecordFunction").
void RecordInfo(std::string_view key, std::string_view value);

// Records an allocation inside another allocator. `frame` is HookFrame() of the hook; the
// stack starts at its caller. Call RecordFreeIn before the memory can be given out again. Sampling is the
// caller's business. Returns the stack, 0 when nothing was recorded.
uint32_t RecordAllocIn(const void* p, size_t bytes, const void* frame);
void RecordFreeIn(const void* p);
// Call when such an allocation ends a countdown of the sampling, before it is kept or not.
void CountPointIn();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_TRACER_H_

// The seam between the recorder and whatever walks stacks.
//
// Called inside a hook: the guard is held and the thread has a buffer. New locations and nodes are written
// through definitions.h before the id is returned. 0 means that there is no stack.
// Allocates: never from the traced heap.
#ifndef PLATEAU_PRELOAD_RECORDER_STACK_CAPTURE_H_
#define PLATEAU_PRELOAD_RECORDER_STACK_CAPTURE_H_

#include <atomic>
#include <cstdint>

#include "preload/unwind/capture.h"
#include "preload/unwind/definition_sink.h"
#include "preload/unwind/registers.h"

namespace plateau {

// A part that knows frames which the unwinder does not see (those of an interpreter) captures whole stacks in
// the unwinder's place once it has set this pointer. A null pointer means native frames alone. The pointer is
// set at most once and then stays, so the one indirect call in the capture is always predicted.
using CaptureFunction = uint32_t (*)(unwind::ThreadCapture& capture, const unwind::Registers& registers);
[[gnu::visibility("hidden")]] extern std::atomic<CaptureFunction> g_merged_capture;

// The unwinder's way to definitions.h.
extern const unwind::DefinitionSink kDefinitionSink;

// The node of the stack whose leaf frame has these registers. `capture` is that of the calling thread.
[[gnu::always_inline]] inline uint32_t CaptureStack(unwind::ThreadCapture& capture,
                                                    const unwind::Registers& registers) {
  const CaptureFunction merged = g_merged_capture.load(std::memory_order_acquire);
  if (merged != nullptr) return merged(capture, registers);
  return unwind::CaptureStack(capture, registers, kDefinitionSink);
}

// The same for a caller that has nothing but the registers.
uint32_t CaptureStack(const unwind::Registers& registers);

// Registers of the caller of a function, from that function's HookFrame().
[[gnu::always_inline]] inline unwind::Registers CallerOfFrame(const void* frame) {
  return unwind::CallerOfHook(frame);
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_STACK_CAPTURE_H_

// The seam between the recorder and whatever walks stacks.
//
// Called inside a hook: guard held, the thread has a buffer. New locations and nodes are written through
// definitions.h before the id is returned. 0: no stack. Allocates: never from the traced heap.
#ifndef PLATEAU_PRELOAD_RECORDER_STACK_CAPTURE_H_
#define PLATEAU_PRELOAD_RECORDER_STACK_CAPTURE_H_

#include <cstdint>

#include "preload/python/interpreter.h"
#include "preload/unwind/capture.h"
#include "preload/unwind/definition_sink.h"
#include "preload/unwind/registers.h"

namespace plateau {

// For who has the registers alone.
uint32_t CaptureStack(const unwind::Registers& registers);
// Where an interpreter runs: native and Python frames.
uint32_t CapturePythonStack(unwind::ThreadCapture& capture, const unwind::Registers& registers);

// The unwinder's way to definitions.h.
extern const unwind::DefinitionSink kDefinitionSink;

// The node of the stack whose leaf frame has these registers. `capture` is that of the calling thread.
[[gnu::always_inline]] inline uint32_t CaptureStack(unwind::ThreadCapture& capture,
                                                    const unwind::Registers& registers) {
  if (python::Ready()) return CapturePythonStack(capture, registers);
  return unwind::CaptureStack(capture, registers, kDefinitionSink);
}

// Registers of the caller of a function, from that function's __builtin_frame_address(0).
inline unwind::Registers CallerOfFrame(const void* frame) {
  const auto* words = static_cast<const uintptr_t*>(frame);
  return {words[1], reinterpret_cast<uintptr_t>(words + 2), words[0]};
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_STACK_CAPTURE_H_

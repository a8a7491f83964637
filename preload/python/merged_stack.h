// One stack of native and Python frames, from the root to the hook.
//
//   leaf:  py <module> - py train - py step | eval loop - at::mm - at::empty - posix_memalign
//          `---- Python frames ---------'     `---- native frames, leaf side of the newest eval loop
//   full:  main - Py_RunMain - py <module> - py step - THPEngine_run_backward - py backward - at::mm - ...
//
// A group of Python frames is put where its eval loop is on the native stack: the loop keeps an object in its
// own native frame (CFrame or entry frame) and the walk knows its address, so no symbol is needed and a
// stripped interpreter is no worse. 3.8 and 3.9 keep none; there the address range of
// _PyEval_EvalFrameDefault tells. In the full form the eval loop's native frame is replaced by its group. A
// group that is found nowhere is put in front of the next one, so that a wrong count never drops a frame.
//
// Called inside a hook, under the guard, with the calling thread's own capture. Allocates: never. Locks:
// never.
#ifndef PLATEAU_PRELOAD_PYTHON_MERGED_STACK_H_
#define PLATEAU_PRELOAD_PYTHON_MERGED_STACK_H_

#include <cstdint>

#include "preload/unwind/capture.h"

namespace plateau::python {

enum class NativeFrames : uint8_t {
  kLeaf,  // only those the newest Python frame called: half the cost, and what most questions need
  kFull,  // also those between two groups of Python frames
};

// The node of the calling thread's stack; it has native frames alone when the thread runs no Python now.
// 0 means that there is no stack.
uint32_t CaptureMergedStack(unwind::ThreadCapture& thread, const unwind::Registers& registers,
                            const unwind::DefinitionSink& sink, NativeFrames native_frames);

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_MERGED_STACK_H_

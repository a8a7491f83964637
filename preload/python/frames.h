// The calling thread's Python frames, leaf first, by plain reads.
//
//   WalkScope scope;
//   PythonFrame frames[kMaxPythonFrames];
//   bool truncated;
//   size_t count = WalkPythonFrames(scope, frames, kMaxPythonFrames, &truncated);
//   ... look the code objects up while `scope` lives ...
//
// Only for hooks that allocate: in free() and munmap() a frame that is being popped can still be linked while
// its code object is gone. Works with the GIL held or released: nobody but this thread changes its chain, and
// each frame on it keeps its code object alive.
//
// Allocates: never. Locks: never. Calls into the interpreter: PyGILState_GetThisThreadState alone.
// A frame whose code is not a code object ends the walk and is counted; see bad_frames().
#ifndef PLATEAU_PRELOAD_PYTHON_FRAMES_H_
#define PLATEAU_PRELOAD_PYTHON_FRAMES_H_

#include <cstddef>
#include <cstdint>

#include "preload/python/walk_scope.h"

namespace plateau::python {

inline constexpr size_t kMaxPythonFrames = 128;

// The offset of a frame that has not executed anything yet: it stands at its code's first line.
inline constexpr uint32_t kBeforeFirstInstruction = 0xffffffff;

struct PythonFrame {
  const void* code;     // borrowed until the WalkScope ends
  const void* c_stack;  // of an entry frame: an address inside the native frame of its eval loop, or null
  uint32_t offset;      // bytes into the bytecode
  bool entry;           // the next frame, rootwards, runs in another native eval loop
};

// Returns how many of at most `max` frames were stored. `truncated` tells that the chain went on.
size_t WalkPythonFrames(const WalkScope& scope, PythonFrame* out, size_t max, bool* truncated);

// Walks that ended at something that was no code object. Not zero means a layout is wrong.
uint64_t bad_frames();

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_FRAMES_H_

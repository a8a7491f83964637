// The calling thread's Python state, read without the interpreter lock.
//
// Torch's callbacks run while the lock is released, so nothing may be asked of Python there. But the thread's
// own state, its frames and the exception it handles are changed by nobody else, and a frame keeps its
// arguments alive. Works for CPython 3.8 to 3.13 with the GIL; elsewhere there is no view.
//
// Allocates: never. Locks: never. Throws: never. Calls into the interpreter: PyGILState_GetThisThreadState
// alone (and Py_GetVersion once).
#ifndef PLATEAU_PRELOAD_TORCH_THREAD_VIEW_H_
#define PLATEAU_PRELOAD_TORCH_THREAD_VIEW_H_

#include <cstdint>
#include <cstring>

namespace plateau {

inline constexpr uint32_t kNoOffset = 0xffffffff;

// Byte offsets of one minor version, from its headers.
struct ThreadLayout {
  uint32_t exc_info;            // in PyThreadState
  uint32_t thread_state_bytes;  // sizeof(PyThreadState)
  uint32_t frame;               // in PyThreadState: the newest frame, or the CFrame that leads to it
  uint32_t cframe_frame;        // in CFrame (3.11, 3.12), else kNoOffset
  uint32_t frame_previous;
  uint32_t frame_code;
  uint32_t frame_owner;  // one byte, 3.11 and later
  uint32_t frame_locals;
  uint32_t code_argument_count;
};

struct ThreadView {
  const void* state = nullptr;  // PyThreadState of the calling thread; null when there is no view
  const ThreadLayout* layout = nullptr;
};

ThreadView ViewThread();

// True once a view was possible in this process.
bool CanViewThreads();

inline const void* ReadPointerAt(const void* base, uint32_t offset) {
  const void* value;
  memcpy(&value, static_cast<const char*>(base) + offset, sizeof(value));
  return value;
}

// Name of the class of a Python object, as PyTypeObject has it; null when there is none.
inline const char* ClassNameOf(const void* object) {
  constexpr uint32_t kObjectType = 8;  // PyObject.ob_type
  constexpr uint32_t kTypeName = 24;   // PyTypeObject.tp_name
  const void* type = ReadPointerAt(object, kObjectType);
  return type != nullptr ? static_cast<const char*>(ReadPointerAt(type, kTypeName)) : nullptr;
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_THREAD_VIEW_H_

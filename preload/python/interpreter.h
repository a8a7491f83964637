// The interpreter of this process: which one, where, and whether its frames can be walked.
//
// Found by reading the dynamic symbol tables of the loaded modules, so no libpython is linked, no dlsym() is
// called from a hook, and a libpython opened with RTLD_LOCAL is seen like a static one.
//
// Threads: NoticeModules() may run in any thread; one wins, the others return. After kReady nothing changes
// until the process ends, or the interpreter is unloaded. Allocates: never.
#ifndef PLATEAU_PRELOAD_PYTHON_INTERPRETER_H_
#define PLATEAU_PRELOAD_PYTHON_INTERPRETER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/python/layout.h"

namespace plateau::python {

enum class InterpreterState : uint8_t { kAbsent, kUnsupported, kReady };

struct Interpreter {
  Layout layout;
  uint16_t version;  // major << 8 | minor
  const void* code_type;
  void* (*this_thread_state)();  // PyGILState_GetThisThreadState: no lock, no allocation, no GIL
  // Native code of the eval loop, for 3.8 and 3.9, whose frames leave no address on the C stack.
  uintptr_t eval_begin;
  uintptr_t eval_end;
  // The interpreter's own module: executable or libpython.
  uintptr_t module_begin;
  uintptr_t module_end;
  bool may_unload;        // it was loaded by dlopen()
  const char* refusal;    // why its frames cannot be walked, in state kUnsupported
  char version_text[24];  // "3.11.2"
};

[[gnu::visibility("hidden")]] extern std::atomic<InterpreterState> g_interpreter_state;
[[gnu::visibility("hidden")]] extern Interpreter g_interpreter;  // constant once the state is kReady

inline bool Ready() {
  return g_interpreter_state.load(std::memory_order_acquire) == InterpreterState::kReady;
}

// Looks for an interpreter among the loaded modules, when some were loaded since the last call. Takes the
// lock of the loader's list, which nobody holds while calling out: for the constructor and the recorder's
// tick.
void NoticeModules();

// Called before and after a dlclose(), by which an interpreter that was loaded by hand may go away.
void BeforeModulesGo();
void AfterModulesWent();

// The address of a symbol that the interpreter exports, null when it has none; for pymalloc.h.
void* InterpreterSymbol(const char* name);

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_INTERPRETER_H_

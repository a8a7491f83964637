// When the shim looks for holders, and how a look gets to a moment at which it is safe.
//
//   tick of the recorder -> is a look due? -> Py_AddPendingCall() -> main thread, between two bytecodes -> walk
//   plateau_mark_holders(), interpreter's lock held                                                     -> walk
//
// Due: at steps 32, 64, 128, ... (16 is only looked at, so that growth is known); without steps after 30, 60, 120, ...
// seconds; when `plateau holders` has asked. Looks that nobody asked for stay below kBudgetShare of the process's time.
// What is skipped is recorded with its reason. Never from a signal, never inside a collection, an import or the end of
// the interpreter.
//
// Allocates: never from the traced heap; a walk's pages are given back at its end.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_SCHEDULE_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_SCHEDULE_H_

#include <cstdint>

#include "preload/recorder/parts.h"
#include "preload/trace/format.h"

namespace plateau {
extern const Part kHoldersPart;
}

namespace plateau::python::holders {

inline constexpr uint64_t kBudgetShare = 1000;  // one part in so many of the process's time
inline constexpr uint64_t kFreeMs = 5;          // that looks may take besides
inline constexpr uint64_t kMaxWalkMs = 500;
inline constexpr uint64_t kFirstStep = 16;
inline constexpr uint64_t kFirstSeconds = 30;

// Looks at once. Call with the interpreter's lock held, outside of hooks. Returns the number of targets found, -1 when
// there was no walk.
int LookNow(trace::WalkReason reason);

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_SCHEDULE_H_

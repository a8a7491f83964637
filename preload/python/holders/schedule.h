// When the shim looks for holders, and how a look gets to a moment at which it is safe.
//
//   tick of the recorder -> is a look due? -> Py_AddPendingCall() -> main thread, between two bytecodes -> walk
//   plateau_mark_holders(), interpreter's lock held                                                     -> walk
//
// Due: at steps 32, 64, 128, ...; with fewer steps after 4, 8, 16, ... seconds; when `plateau holders` has asked. At half
// of the first the live blocks are added up, so that growth is known. Looks that nobody asked for stay below one part
// in kBudgetShare of the process's time, from the first: in a run of seconds a look has some milliseconds, walks what the
// program's own modules and frames reach, and is cut there; the next one waits until twice that may be spent.
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

inline constexpr uint64_t kBudgetShare = 1000;       // one part in so many of the process's time
inline constexpr uint64_t kLeastWalkNs = 2'500'000;  // less is not worth its fixed part
inline constexpr uint64_t kMaxWalkNs = 500'000'000;
inline constexpr uint64_t kFirstStep = 32;
inline constexpr uint64_t kFirstSeconds = 4;

// Looks at once. Call with the interpreter's lock held, outside of hooks. Returns the number of targets found, -1 when
// there was no walk.
int LookNow(trace::WalkReason reason);

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_SCHEDULE_H_

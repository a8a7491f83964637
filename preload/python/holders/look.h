// One look for holders: chooses targets, walks, writes what was found. When to look is schedule.h's business.
//
//   table of live blocks -> targets -> walk -> names -> HOLDER records, then one HOLDER_WALK
//
// Call WalkAndRecord() with the interpreter's lock held, outside of hooks, one at a time. Allocates: never from the traced
// heap; a walk's pages are given back at its end. errno is as before.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_LOOK_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_LOOK_H_

#include <cstdint>

#include "preload/python/holders/tables/heap_layout.h"
#include "preload/trace/format.h"

namespace plateau::python::holders {

// Whether this interpreter's objects are known. The first call says in the trace when they are not.
bool FindInterpreter();

// Only where FindInterpreter() has said yes.
const HeapFunctions& InterpreterFunctions();
int InterpreterMinor();

// Whether this thread has the lock, in the interpreter whose modules and threads are walked.
bool IsInMainInterpreter();

// Whether a thread is at this moment inside the machinery of import, not only in a module that is being imported.
bool IsImporting();

bool IsAskedFor(trace::WalkReason reason);

struct LookResult {
  int found = -1;        // targets; -1: there was no walk
  uint64_t used_ns = 0;  // of this thread
  bool was_cut_by_time = false;
};
LookResult WalkAndRecord(trace::WalkReason reason, uint64_t limit_ns);

// A look that was due and is not made.
void RecordSkip(trace::WalkReason reason, trace::WalkResult result);

// In the child of a fork.
void ForgetWalks();

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_LOOK_H_

// Tells the fetch that ended a pass over the data from one that brought a batch.
//
// The range around a DataLoader's __next__ ends in both cases in the same way, and the interpreter lock is
// not held there, so nothing may be asked of Python. But the exception being handled hangs on the calling
// thread's own state, which nobody else changes: compare it at the begin and at the end of the range.
//
//   const void* before = HandledException();
//   ... the fetch ...
//   bool stop = EndedByStopIteration(before);
//
// Works where thread_view.h does; elsewhere KnowsStopIteration() is false and nothing is read. The layout is
// believed only after the pointer it leads to was seen inside the thread state, where it belongs.
// Allocates: never. Locks: never. Throws: never.
#ifndef PLATEAU_PRELOAD_TORCH_STOP_ITERATION_H_
#define PLATEAU_PRELOAD_TORCH_STOP_ITERATION_H_

namespace plateau {

// The exception (3.11 and later) or its class (before) that the calling thread is handling; null when there
// is none or when the interpreter is not known.
const void* HandledException();

bool EndedByStopIteration(const void* handled_before);

bool KnowsStopIteration();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_STOP_ITERATION_H_

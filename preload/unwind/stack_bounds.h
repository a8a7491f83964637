// Where the current thread's own stack lies.
//
// Asks the C library once per thread; that may allocate, so call it under the guard. The main thread's stack
// can grow: its begin is where it may grow to, at most kMaxMainStackBytes below its end.
#ifndef PLATEAU_PRELOAD_UNWIND_STACK_BOUNDS_H_
#define PLATEAU_PRELOAD_UNWIND_STACK_BOUNDS_H_

#include <cstdint>

namespace plateau::unwind {

struct StackBounds {
  uintptr_t begin = 0;
  uintptr_t end = 0;  // both 0 when unknown: every stack then counts as foreign, slower but as safe
};

// Less than the gap that the kernel keeps free below the main stack (128 MiB), so nothing else lies in there.
inline constexpr uintptr_t kMaxMainStackBytes = 120u << 20;

StackBounds CurrentStackBounds();

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_STACK_BOUNDS_H_

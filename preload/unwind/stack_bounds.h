// Where the current thread's own stack lies.
//
// Asks the kernel, once per thread: pthread_getattr_np() takes a lock of the thread, and a thread whose first
// allocation comes from that very function (Rust, Java and Python 3.14 call it as they start) would wait for
// itself. The main thread's stack can grow: its begin is where it may grow to, at most kMaxMainStackBytes
// below its end. Allocates: never. Locks: never.
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

// Where the current thread's own stack lies.
//
// The main thread's is known from the loader. Another thread has its control block on top of its stack, so
// [rsp, control block) is its stack if all of it can be read; the kernel is asked page by page, a few at a
// thread's first capture. Deeper parts are added when a capture comes from there. Asking the C library
// (pthread_getattr_np) instead would take a lock that the program may hold, and reading /proc/self/maps costs
// 20 us in a process with a thousand mappings. Allocates: never. Locks: never. Safe in signal
// handlers. errno is kept.
#ifndef PLATEAU_PRELOAD_UNWIND_STACK_BOUNDS_H_
#define PLATEAU_PRELOAD_UNWIND_STACK_BOUNDS_H_

#include <cstdint>

namespace plateau::unwind {

struct StackBounds {
  uintptr_t begin = 0;  // all from here to `end` can be read as long as the thread lives
  uintptr_t end = 0;    // an empty range: every stack counts as foreign, slower but as safe
  uintptr_t floor = 0;  // the stack does not reach below this
};

// Less than the gap that the kernel keeps free below the main stack (128 MiB), so nothing else lies in there.
inline constexpr uintptr_t kMaxMainStackBytes = 120u << 20;
// How far the bounds are extended at once; a jump beyond that is taken for another stack.
inline constexpr uintptr_t kMaxProbedBytes = 1u << 20;

StackBounds CurrentStackBounds();

// Lowers bounds->begin to the page of `rsp`, an address below it, when all in between can be read. When
// something cannot, that is the stack's floor and nothing below is tried again.
void ExtendStackBounds(uintptr_t rsp, StackBounds* bounds);

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_STACK_BOUNDS_H_

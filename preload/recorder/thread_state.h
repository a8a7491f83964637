// What a hook looks at first: the gate, one page for the process, and the state of the calling thread.
//
// The gate is wiped by the kernel in the child of any fork or clone that copies memory. A zeroed gate sends
// every hook the slow way, where the child notices that it is one; so a child never writes into its parent's
// trace, however it was made. A vfork child shares the memory, the gate included, and is rightly taken for
// its parent.
//
//   hook:  gate allows the fast path?  --no-->  slow path: nested? starting? forked? off? record
//            |yes: counters, tail call of the real function
//
// While a thread is inside a slow path, its counters pointer is null, so nested calls take the slow way too
// and are recognised by `depth`. Initial-exec TLS: no call, no allocation.
// Everything is constant-initialised.
#ifndef PLATEAU_PRELOAD_RECORDER_THREAD_STATE_H_
#define PLATEAU_PRELOAD_RECORDER_THREAD_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "preload/trace/format.h"

namespace plateau {

class ThreadBuffer;

struct alignas(4096) Gate {
  // Requests of fewer bytes may take the fast path when the countdown allows; 0: none.
  std::atomic<uint64_t> fast_below;
  // 1: a pointer that the sample filter does not know may be freed the fast way.
  std::atomic<uint32_t> fast_free;
  // 1: this process records.
  std::atomic<uint32_t> live;
  // 1: it records every request, without asking the sampler or the size limit. Implies live.
  std::atomic<uint32_t> records_all;
};
static_assert(sizeof(Gate) == 4096);
extern Gate g_gate;

struct ThreadState {
  int64_t bytes_until_sample;  // countdown of the Poisson gap; below 0: slow path
  trace::Totals* totals;       // as below; null while depth > 0, which sends nested calls to the slow path
  ThreadBuffer* buffer;        // null until the first event, and after the thread's end
  trace::Totals* slot_totals;  // counters in the thread's slot; null: slow path
  uint32_t depth;              // hooks of ours on this thread's stack
  uint32_t own_calls;          // > 0: nested calls are ours, not a signal handler's
  bool ended;                  // the thread gave its slot back; what it still does goes to the shared slot
  uint32_t creator_stream;
  uint32_t creator_stack;
};
static_assert(sizeof(ThreadState) <= 64);
static_assert(std::is_trivially_destructible_v<ThreadState>);

extern __thread ThreadState t_thread __attribute__((tls_model("initial-exec")));

// False: the call is nested in another hook of this thread and records nothing.
inline bool EnterHook(ThreadState& t) {
  if (t.depth++ != 0) [[unlikely]] {
    return false;
  }
  t.totals = nullptr;
  // A signal handler on this thread must see the depth before anything of ours changes.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return true;
}

// Undoes EnterHook(), whatever it returned.
inline void LeaveHook(ThreadState& t) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (--t.depth != 0) [[unlikely]] {
    return;
  }
  t.totals = t.slot_totals;
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_THREAD_STATE_H_

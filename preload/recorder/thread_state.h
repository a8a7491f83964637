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

#include "preload/base/page_size.h"
#include "preload/trace/format.h"

namespace plateau {

class ThreadBuffer;

// What the hooks may do now. The named states are all there are.
struct GateState {
  uint64_t fast_below;  // requests of fewer bytes may take the fast path when the countdown allows
  bool fast_free;       // a pointer that the sample filter does not know may be freed the fast way
  bool records_all;     // every event is recorded without asking the sampler or the size limit
  enum : uint8_t { kDead, kLive, kAsBefore } life;  // whether this process records

  // Before the start, and in a child that has not noticed yet that it is one. The kernel makes this state
  // when it wipes the page.
  static constexpr GateState Closed() { return {0, false, false, kDead}; }
  // Exact mode.
  static constexpr GateState RecordsAll() { return {0, false, true, kLive}; }
  // Exact mode after the size limit has made it a sample: the frees of all that was recorded must follow, so
  // no call may take the fast path. The recording goes on if it was going on.
  static constexpr GateState AsksForEach() { return {0, false, false, kAsBefore}; }
  // Default mode.
  static constexpr GateState Samples(uint64_t exact_from) { return {exact_from, true, false, kLive}; }
  // Default mode with a coarser sample. The recording goes on if it was going on.
  static constexpr GateState SamplesCoarser(uint64_t exact_from) {
    return {exact_from, true, false, kAsBefore};
  }
  // No recording, for good: hooks become tail calls. `fast_free` says whether frees may, too.
  static constexpr GateState Off(bool fast_free) { return {UINT64_MAX, fast_free, false, kDead}; }
};

struct alignas(kLargestPageBytes) Gate {  // alone on its page, which the kernel may wipe
  std::atomic<uint64_t> fast_below;
  std::atomic<uint32_t> fast_free;
  std::atomic<uint32_t> live;
  std::atomic<uint32_t> records_all;

  // The only way in which the gate changes, besides the kernel's. Other threads may look in between two
  // stores, so the order matters: `records_all` implies `live`, and whoever sees `live` sees the rest.
  void Set(const GateState& state) {
    // A recording that has ended meanwhile stays ended.
    if (state.life == GateState::kAsBefore && live.load(std::memory_order_relaxed) == 0) return;
    if (!state.records_all) records_all.store(0, std::memory_order_relaxed);
    if (state.life == GateState::kDead) live.store(0, std::memory_order_release);
    fast_free.store(state.fast_free, std::memory_order_relaxed);
    fast_below.store(state.fast_below, std::memory_order_relaxed);
    if (state.records_all) records_all.store(1, std::memory_order_relaxed);
    if (state.life == GateState::kLive) live.store(1, std::memory_order_release);
  }
};
static_assert(sizeof(Gate) == kLargestPageBytes);
static_assert(std::is_trivially_destructible_v<Gate>);
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
  uint32_t creator_recording;  // the recording that knows the creator
};
static_assert(sizeof(ThreadState) <= 64);
static_assert(std::is_trivially_destructible_v<ThreadState>);

extern __thread ThreadState t_thread __attribute__((tls_model("initial-exec")));

// The guard of a hook, on the stack for as long as the hook runs. It is false when the call is nested in
// another hook of this thread (our own work, or a signal handler's), which then records nothing.
class HookScope {
 public:
  [[gnu::always_inline]] explicit HookScope(ThreadState& t) : t_(t), is_outermost_(Enter(t)) {}
  [[gnu::always_inline]] ~HookScope() { Leave(t_); }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;
  explicit operator bool() const { return is_outermost_; }

  // The two ends, for tracer.h's HookGuard, which may not show ThreadState to the parts.
  [[gnu::always_inline]] static bool Enter(ThreadState& t) {
    if (t.depth++ != 0) [[unlikely]] {
      return false;
    }
    t.totals = nullptr;
    // A signal handler on this thread must see the depth before anything of ours changes.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return true;
  }
  [[gnu::always_inline]] static void Leave(ThreadState& t) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (--t.depth != 0) [[unlikely]] {
      return;
    }
    t.totals = t.slot_totals;
  }

 private:
  ThreadState& t_;
  const bool is_outermost_;
};

// Inside a hook: what is called meanwhile (libc, the interpreter, torch) is called by us, so nested events
// are neither recorded nor counted as lost.
class OwnCallScope {
 public:
  explicit OwnCallScope(ThreadState& t) : t_(t) { ++t_.own_calls; }
  ~OwnCallScope() { --t_.own_calls; }
  OwnCallScope(const OwnCallScope&) = delete;
  OwnCallScope& operator=(const OwnCallScope&) = delete;

 private:
  ThreadState& t_;
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_THREAD_STATE_H_

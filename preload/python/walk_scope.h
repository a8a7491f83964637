// The window in which a thread may read its own Python frames, and the guard that keeps them in memory.
//
// While Py_Finalize() runs, it frees the states of daemon threads that are still busy in C code. A thread
// that walks at that moment would read freed memory. So:
//
//   walker    WalkScope:        own flag = 1; does somebody finalise?  -> no frames
//                               reads ...; own flag = 0
//   releaser  BeforeRelease():  does somebody finalise, and has nobody waited yet?
//                               -> membarrier, then wait until no other thread has its flag set
//
// Releasers are free(), munmap() and the free hook of pymalloc. docs/design/python-walk-guard.md has the why.
//
// Either the walker sees the finalising word or the releaser sees the flag. A walker never blocks, so the
// wait takes microseconds; it is bounded all the same.
//
// Allocates: never. Locks: never. Cost: one store each for a walker, two loads for a release.
#ifndef PLATEAU_PRELOAD_PYTHON_WALK_SCOPE_H_
#define PLATEAU_PRELOAD_PYTHON_WALK_SCOPE_H_

#include <atomic>
#include <cstdint>

namespace plateau::python {

// Threads beyond this number have no Python frames; a thread that ended makes room.
inline constexpr uint32_t kMaxWalkingThreads = 2048;

// Opens the window for the calling thread. Code pointers from a walk are valid until it is destroyed.
class WalkScope {
 public:
  WalkScope();
  ~WalkScope();
  WalkScope(const WalkScope&) = delete;
  WalkScope& operator=(const WalkScope&) = delete;

  // False when there is no interpreter, when this thread has no state, or when another thread finalises.
  explicit operator bool() const { return thread_state_ != nullptr; }
  const void* thread_state() const { return thread_state_; }
  // A number below kMaxWalkingThreads that no other thread has while this one lives, so that a walker can
  // have memory of its own.
  uint32_t slot() const { return slot_; }

 private:
  const void* thread_state_ = nullptr;
  std::atomic<uint32_t>* flag_ = nullptr;
  uint32_t slot_ = 0;
};

[[gnu::visibility("hidden")]] extern std::atomic<const std::atomic<uintptr_t>*> g_finalizing_word;
void WaitForWalkers();

// True while an interpreter finalises.
inline bool IsFinalizing() {
  return g_finalizing_word.load(std::memory_order_relaxed)->load(std::memory_order_relaxed) != 0;
}

// Call before memory is given back to libc or the kernel.
inline void BeforeRelease() {
  if (IsFinalizing()) [[unlikely]]
    WaitForWalkers();
}

// `listener` is called by the first thread that gives memory back while an interpreter finalises; when it returns
// false, by the next one too.
void ListenForFinalizing(bool (*listener)());

// Gives the thread's flag to the next thread. A thread that ends without it costs a flag, nothing else.
void ReleaseWalkFlag();

// Tells the guard which word the interpreter sets; registers for membarrier.
void StartWalkGuard(const void* finalizing_word);

// Around a dlclose() that may unload the interpreter: no walk begins in between, and the finalising word is
// not looked at. Nests.
void SuspendWalks();
void ResumeWalks(bool interpreter_is_loaded);

// In the child of a fork, before it records: the other threads are gone.
void ResetWalkGuardInChild();

// Whether there are no frames any more, because a thread did not come out of its walk while somebody waited
// to give memory back.
bool HaveWalksEnded();

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_WALK_SCOPE_H_

#include "preload/python/walk_scope.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>

#include "preload/python/interpreter.h"

namespace plateau::python {
namespace {

// For all walks together. One takes microseconds, but on a machine with many more busy threads than cores
// each walker may have to wait for its turn: a second was too short for twelve of them there.
constexpr int64_t kMaxWaitNs = 5'000'000'000;

struct alignas(64) WalkFlag {
  std::atomic<uint32_t> walking;
  std::atomic<bool> taken;
};

constinit WalkFlag g_flags[kMaxWalkingThreads];
constinit std::atomic<size_t> g_flags_used{0};  // all flags beyond were never taken
constinit std::atomic<uintptr_t> g_never_finalizing{0};
constinit std::atomic<bool> g_walkers_gone{false};  // a releaser has waited in this finalisation
constinit std::atomic<bool> g_is_noted{false};      // the listener was told of this finalisation
constinit std::atomic<bool (*)()> g_listener{nullptr};
constinit std::atomic<bool> g_use_fences{false};  // no membarrier here
constinit std::atomic<bool> g_gave_up{false};
constinit std::atomic<int> g_suspensions{0};
constinit const std::atomic<uintptr_t>* g_interpreter_word = &g_never_finalizing;

constinit thread_local WalkFlag* t_flag = nullptr;
constinit thread_local bool t_ended = false;

WalkFlag* TakeFlag() {
  if (t_ended) return nullptr;
  for (size_t i = 0; i < kMaxWalkingThreads; ++i) {
    if (g_flags[i].taken.load(std::memory_order_relaxed) || g_flags[i].taken.exchange(true)) continue;
    size_t used = g_flags_used.load();
    while (used <= i && !g_flags_used.compare_exchange_weak(used, i + 1)) {
    }
    t_flag = &g_flags[i];
    return t_flag;
  }
  return nullptr;
}

// Orders this thread's flag store before its read of the finalising word.
inline void OrderWalker() {
  if (g_use_fences.load(std::memory_order_relaxed)) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Returns when no other thread is inside a walk that began before this call.
void WaitForEveryWalk() {
  const int saved_errno = errno;
  if (!g_use_fences.load(std::memory_order_relaxed))
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const int64_t deadline_ns = NowNs() + kMaxWaitNs;
  const size_t used = g_flags_used.load();
  for (size_t i = 0; i < used && !g_gave_up.load(std::memory_order_relaxed); ++i) {
    if (&g_flags[i] == t_flag) continue;
    while (g_flags[i].walking.load(std::memory_order_acquire) != 0) {
      if (NowNs() > deadline_ns) {
        g_gave_up.store(true);
        break;
      }
      sched_yield();
    }
  }
  errno = saved_errno;
}

}  // namespace

constinit std::atomic<const std::atomic<uintptr_t>*> g_finalizing_word{&g_never_finalizing};

WalkScope::WalkScope() {
  if (!Ready() || g_gave_up.load(std::memory_order_relaxed)) return;
  WalkFlag* flag = t_flag != nullptr ? t_flag : TakeFlag();
  if (flag == nullptr) return;
  flag_ = &flag->walking;
  slot_ = static_cast<uint32_t>(flag - g_flags);
  flag_->store(1, std::memory_order_relaxed);
  OrderWalker();
  const std::atomic<uintptr_t>& word = *g_finalizing_word.load(std::memory_order_relaxed);
  uintptr_t finalizing = word.load(std::memory_order_acquire);
  if (g_suspensions.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return;
  if (finalizing == 0 && g_walkers_gone.load(std::memory_order_relaxed)) [[unlikely]] {
    // Initialised again: the next finalisation has to wait again, unless it has begun already.
    g_walkers_gone.store(false, std::memory_order_seq_cst);
    g_is_noted.store(false, std::memory_order_relaxed);
    finalizing = word.load(std::memory_order_seq_cst);
  }
  const void* state = g_interpreter.this_thread_state();
  if (finalizing == 0 || finalizing == reinterpret_cast<uintptr_t>(state)) [[likely]]
    thread_state_ = state;
}

WalkScope::~WalkScope() {
  if (flag_ != nullptr) flag_->store(0, std::memory_order_release);
}

void WaitForWalkers() {
  if (!g_is_noted.load(std::memory_order_relaxed)) {
    bool (*const listener)() = g_listener.load(std::memory_order_relaxed);
    if (listener != nullptr && listener()) g_is_noted.store(true, std::memory_order_relaxed);
  }
  if (g_walkers_gone.load(std::memory_order_seq_cst)) return;
  WaitForEveryWalk();
  g_walkers_gone.store(true, std::memory_order_seq_cst);
}

void ListenForFinalizing(bool (*listener)()) { g_listener.store(listener, std::memory_order_relaxed); }

void ReleaseWalkFlag() {
  t_ended = true;
  if (t_flag == nullptr) return;
  t_flag->walking.store(0, std::memory_order_relaxed);
  t_flag->taken.store(false, std::memory_order_release);
  t_flag = nullptr;
}

void StartWalkGuard(const void* finalizing_word) {
  static_assert(sizeof(std::atomic<uintptr_t>) == sizeof(uintptr_t));
  const int saved_errno = errno;
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) g_use_fences.store(true);
  errno = saved_errno;
  g_interpreter_word = static_cast<const std::atomic<uintptr_t>*>(finalizing_word);
  g_finalizing_word.store(g_interpreter_word, std::memory_order_release);
}

void SuspendWalks() {
  g_suspensions.fetch_add(1);
  WaitForEveryWalk();
  g_finalizing_word.store(&g_never_finalizing);
}

void ResumeWalks(bool interpreter_is_loaded) {
  if (!interpreter_is_loaded) g_interpreter_word = &g_never_finalizing;
  if (g_suspensions.load() == 1) g_finalizing_word.store(g_interpreter_word);
  g_suspensions.fetch_sub(1);
}

void ResetWalkGuardInChild() {
  const size_t used = g_flags_used.load();
  for (size_t i = 0; i < used; ++i) {
    if (&g_flags[i] == t_flag) continue;
    g_flags[i].walking.store(0, std::memory_order_relaxed);
    g_flags[i].taken.store(false, std::memory_order_relaxed);
  }
  g_walkers_gone.store(false);
  g_gave_up.store(false);
}

bool HaveWalksEnded() { return g_gave_up.load(std::memory_order_relaxed); }

}  // namespace plateau::python

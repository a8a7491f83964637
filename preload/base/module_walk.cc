#include "preload/base/module_walk.h"

#include <errno.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <time.h>

#include <atomic>
#include <cstring>

#include "preload/base/elf_view.h"
#include "preload/base/system_call.h"

namespace plateau {
namespace {

constexpr uint64_t kLongestWaitNs = 2'000'000'000;
constexpr size_t kMaxLoaderLocks = 16;

struct Thread {
  uint32_t walks;  // one inside another
  uint32_t forks;
};
__thread Thread t_here __attribute__((tls_model("initial-exec"))) = {0, 0};
constinit std::atomic<uint32_t> g_walking_threads{0};
constinit std::atomic<uint32_t> g_forks{0};
constinit std::atomic<bool> g_is_usable{true};
constinit const pthread_mutex_t* g_loader_locks[kMaxLoaderLocks] = {};

uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// False when that did not come in time.
template <typename Condition>
bool WaitUntil(Condition condition) {
  if (condition()) return true;
  const uint64_t end_ns = MonotonicNs() + kLongestWaitNs;
  while (!condition()) {
    if (MonotonicNs() > end_ns) return false;
    sys::Yield();
  }
  return true;
}

bool NobodyElseForks() { return g_forks.load() <= t_here.forks; }
bool NobodyElseWalks() { return g_walking_threads.load() <= (t_here.walks > 0 ? 1 : 0); }

void BeforeFork() {
  const int saved_errno = errno;
  ++t_here.forks;
  g_forks.fetch_add(1);
  WaitUntil(NobodyElseWalks);
  errno = saved_errno;
}

void AfterForkInParent() {
  --t_here.forks;
  g_forks.fetch_sub(1);
}

// Walk and fork each write their own word before they read the other's, so one of the two sees the other.
void Enter() {
  g_walking_threads.fetch_add(1);
  while (!NobodyElseForks()) {
    g_walking_threads.fetch_sub(1);
    const bool is_over = WaitUntil(NobodyElseForks);
    g_walking_threads.fetch_add(1);
    if (!is_over) return;
  }
}

// A recursive mutex of the loader, held or not. Its data hold nothing else that looks like one.
bool IsLock(const pthread_mutex_t& mutex) {
  const auto& m = mutex.__data;
  const auto* const links = reinterpret_cast<const uintptr_t*>(&m.__list);
  return m.__kind == PTHREAD_MUTEX_RECURSIVE_NP && m.__lock >= 0 && m.__lock <= 2 && m.__count < 64 &&
         links[0] == 0 && links[1] == 0 && (m.__owner == 0) == (m.__count == 0);
}

int FindLoaderLocks(dl_phdr_info* info, size_t, void*) {
  if (info->dlpi_addr != getauxval(AT_BASE)) return 0;
  const ElfView loader(*info);
  size_t bytes = 0;
  const auto* const begin = static_cast<const char*>(loader.FindData("_rtld_global", &bytes));
  if (begin == nullptr) return 1;
  size_t count = 0;
  for (size_t at = 0; at + sizeof(pthread_mutex_t) <= bytes && count < kMaxLoaderLocks;) {
    const auto* const mutex = reinterpret_cast<const pthread_mutex_t*>(begin + at);
    if (IsLock(*mutex)) {
      g_loader_locks[count++] = mutex;
      at += sizeof(pthread_mutex_t);
    } else {
      at += alignof(pthread_mutex_t);
    }
  }
  return 1;
}

bool IsHeldByNobody(const pthread_mutex_t& mutex) {
  const int owner = mutex.__data.__owner;
  return owner != 0 && sys::Failed(sys::Call(SYS_tgkill, sys::Getpid(), owner, 0));
}

}  // namespace

void PrepareModuleWalks() {
  if (getauxval(AT_BASE) != 0) WalkModules(FindLoaderLocks, nullptr);
  pthread_atfork(BeforeFork, AfterForkInParent, ResetModuleWalksInChild);
}

int WalkModules(int (*visit)(dl_phdr_info*, size_t, void*), void* data) {
  if (!IsLoaderUsable()) return 0;
  const int saved_errno = errno;
  if (t_here.walks++ == 0) Enter();
  const int result = dl_iterate_phdr(visit, data);
  if (--t_here.walks == 0) g_walking_threads.fetch_sub(1);
  errno = saved_errno;
  return result;
}

void ResetModuleWalksInChild() {
  t_here.forks = 0;
  g_forks.store(0);
  g_walking_threads.store(t_here.walks > 0 ? 1 : 0);
  for (const pthread_mutex_t* lock : g_loader_locks) {
    if (lock != nullptr && IsHeldByNobody(*lock)) g_is_usable.store(false);
  }
}

bool IsLoaderUsable() { return g_is_usable.load(std::memory_order_relaxed); }

}  // namespace plateau

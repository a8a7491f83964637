// A lock that is tried for a bounded time. Holders do little and never call out, so it is nearly always free;
// when a holder was descheduled the waiter yields; when it never comes back (cancelled, gone in a fork) the
// waiter gives up and counts a drop.
//
//   SpinLockHolder holder(lock);
//   if (!holder) return Drop(DropReason::kContended);
//
// Not recursive: only taken under the hook guard, which keeps signal handlers out. A forked child resets it.
#ifndef PLATEAU_PRELOAD_BASE_SPIN_LOCK_H_
#define PLATEAU_PRELOAD_BASE_SPIN_LOCK_H_

#include <atomic>
#include <cstdint>

#include "preload/base/system_call.h"

namespace plateau {

class SpinLock {
 public:
  constexpr SpinLock() = default;

  bool Acquire() {
    for (int round = 0; round < kYields; ++round) {
      for (int i = 0; i < kSpins; ++i) {
        if (word_.load(std::memory_order_relaxed) == 0 && word_.exchange(1, std::memory_order_acquire) == 0) {
          return true;
        }
        Pause();
      }
      sys::Yield();
    }
    return false;
  }
  void Release() { word_.store(0, std::memory_order_release); }

 private:
  static constexpr int kSpins = 100;
  static constexpr int kYields = 20'000;  // about 10 ms of pure spinning, far more wall time under load

  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::atomic<uint32_t> word_{0};
};

class SpinLockHolder {
 public:
  explicit SpinLockHolder(SpinLock& lock) : lock_(lock), held_(lock.Acquire()) {}
  ~SpinLockHolder() {
    if (held_) lock_.Release();
  }
  SpinLockHolder(const SpinLockHolder&) = delete;
  SpinLockHolder& operator=(const SpinLockHolder&) = delete;
  explicit operator bool() const { return held_; }

 private:
  SpinLock& lock_;
  bool held_;
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_SPIN_LOCK_H_

// Samples of the process's memory as others see it: resident, allocator, cgroup, our own.
//
// Taken on the way out of hooks, at least once a second while the program allocates, and at step marks, at
// least kMinIntervalMs apart. No thread, no signal, no descriptor kept. A sample costs some 50 us.
//
// mallinfo2() takes the arena locks, so it runs only where this thread cannot hold one: at marks, and after a
// request that was too large for the per-thread cache and therefore just took and released the lock. It walks
// the free lists; when that takes long it is asked less often, so that it stays under 1/200 of the time.
#ifndef PLATEAU_PRELOAD_LEDGER_LEDGER_H_
#define PLATEAU_PRELOAD_LEDGER_LEDGER_H_

#include <atomic>
#include <cstdint>

#include "preload/recorder/thread_buffer.h"

namespace plateau {

inline constexpr uint64_t kLedgerIntervalMs = 1000;
inline constexpr uint64_t kMinIntervalMs = 50;
inline constexpr uint32_t kMaxCoarser = 5;  // both intervals grow by 4 with each coarsening, so often at most
// Larger requests are not served from libc's per-thread cache.
inline constexpr uint64_t kUncachedBytes = 1040;

enum class LedgerReason : uint8_t { kTick, kTickUncached, kMark, kEnd };

// Finds the cgroup and the limits. When recording starts, and again in a forked child.
void StartLedger();

void SampleLedger(ThreadBuffer* buffer, LedgerReason reason);

extern std::atomic<uint64_t> g_next_ledger_tsc;

// After an event at `tsc`.
inline void MaybeSampleLedger(ThreadBuffer* buffer, uint64_t tsc, uint64_t bytes) {
  if (tsc < g_next_ledger_tsc.load(std::memory_order_relaxed)) [[likely]]
    return;
  SampleLedger(buffer, bytes > kUncachedBytes ? LedgerReason::kTickUncached : LedgerReason::kTick);
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_LEDGER_LEDGER_H_

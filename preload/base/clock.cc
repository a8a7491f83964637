#include "preload/base/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace plateau {

// 2 GHz is assumed until the rate is measured: only the ledger's rate limit depends on it, never a recorded
// time.
constinit ClockState g_clock = {true, 2'000'000'000, 0, 0};

void StartClock() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
  g_clock.is_monotonic_ns = !invariant;
#endif
  if (g_clock.is_monotonic_ns) g_clock.ticks_per_second = 1'000'000'000;
  g_clock.start_tsc = Now();
  g_clock.start_monotonic_ns = ClockNs(CLOCK_MONOTONIC);
}

void CalibrateClock(uint64_t tsc, uint64_t monotonic_ns) {
  if (g_clock.is_monotonic_ns) return;
  const uint64_t elapsed_ns = monotonic_ns - g_clock.start_monotonic_ns;
  // Within 20 ms the error of the two reads shows. After a day the product would overflow, and nothing is
  // left to gain.
  if (elapsed_ns < 20'000'000 || elapsed_ns > 86'400'000'000'000) return;
  const unsigned __int128 ticks = tsc - g_clock.start_tsc;
  __atomic_store_n(&g_clock.ticks_per_second, static_cast<uint64_t>(ticks * 1'000'000'000 / elapsed_ns),
                   __ATOMIC_RELAXED);
}

}  // namespace plateau

#include "preload/base/clock.h"

#include <sys/prctl.h>

#include "preload/base/system_call.h"
#include "preload/base/system_filter.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace plateau {

// 2 GHz is assumed until the rate is measured: only the ledger's rate limit depends on it, never a recorded
// time.
constinit ClockState g_clock = {false, true, 2'000'000'000, 0, 0, 0, 0, ~uint64_t{0}};

namespace {

// The C library's clock_gettime() reads the TSC, or makes the system call where the TSC is no good clock.
constinit bool g_may_use_libc = true;

#if defined(__x86_64__)
bool IsTscAllowed() {
  int state = PR_TSC_ENABLE;
  sys::Call(SYS_prctl, PR_GET_TSC, sys::Arg(&state));
  return state == PR_TSC_ENABLE;
}
#endif

}  // namespace

uint64_t ClockNs(clockid_t id) {
  timespec now = {};
  if (g_may_use_libc && sys::MayCall(SYS_clock_gettime)) {
    clock_gettime(id, &now);
  } else if (sys::Failed(sys::Call(SYS_clock_gettime, id, sys::Arg(&now)))) {
    clock_gettime(id == CLOCK_REALTIME ? CLOCK_REALTIME_COARSE : CLOCK_MONOTONIC_COARSE, &now);
  }
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t NowWithoutTsc() {
  const uint64_t ns = ClockNs(CLOCK_MONOTONIC);
  if (g_clock.is_monotonic_ns) return ns;
  // The coarse clock may be a tick behind the moment at which it took over.
  const unsigned __int128 elapsed_ns = ns > g_clock.left_monotonic_ns ? ns - g_clock.left_monotonic_ns : 0;
  return g_clock.left_tsc + static_cast<uint64_t>(elapsed_ns * g_clock.ticks_per_second / 1'000'000'000);
}

void StartClock() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
  g_may_use_libc = IsTscAllowed();
  g_clock.is_monotonic_ns = !invariant || !g_may_use_libc;
  g_clock.reads_tsc = !g_clock.is_monotonic_ns;
#elif defined(__aarch64__)
  uint64_t frequency;
  asm("mrs %0, cntfrq_el0" : "=r"(frequency));
  if (frequency >= 1'000'000) {  // slower ones cannot order what a program does
    g_clock.is_monotonic_ns = false;
    g_clock.reads_tsc = true;
    g_clock.ticks_per_second = frequency;
    uint64_t noise = 1;
    while (noise * 2 <= frequency / 10'000'000) noise *= 2;  // a tenth of a microsecond
    g_clock.counter_mask = ~(noise - 1);
  }
#endif
  if (g_clock.is_monotonic_ns) g_clock.ticks_per_second = 1'000'000'000;
  g_clock.start_tsc = Now();
  g_clock.start_monotonic_ns = ClockNs(CLOCK_MONOTONIC);
}

void LeaveTsc() {
  g_clock.left_monotonic_ns = ClockNs(CLOCK_MONOTONIC);
  g_clock.left_tsc = Now();
  g_may_use_libc = false;
  g_clock.reads_tsc = false;
}

void CalibrateClock(uint64_t tsc, uint64_t monotonic_ns) {
  if (!g_clock.reads_tsc) return;
  const uint64_t elapsed_ns = monotonic_ns - g_clock.start_monotonic_ns;
  // Within 20 ms the error of the two reads shows. After a day the product would overflow, and nothing is
  // left to gain.
  if (elapsed_ns < 20'000'000 || elapsed_ns > 86'400'000'000'000) return;
  const unsigned __int128 ticks = tsc - g_clock.start_tsc;
  __atomic_store_n(&g_clock.ticks_per_second, static_cast<uint64_t>(ticks * 1'000'000'000 / elapsed_ns),
                   __ATOMIC_RELAXED);
}

}  // namespace plateau

// The clock of event time stamps: the TSC where it is invariant, CLOCK_MONOTONIC nanoseconds where it is not. On AArch64
// the generic timer's virtual counter, which always is; what is said of the TSC below is meant of it, too.
//
// A program may have the TSC taken away (PR_SET_TSC, seccomp's strict mode): then time stamps go on in the unit
// in which they began, read from the kernel's clock, and where that is forbidden too from the page that the kernel
// updates at every tick, which is right to some milliseconds.
//
// Safe everywhere. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_BASE_CLOCK_H_
#define PLATEAU_PRELOAD_BASE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace plateau {

struct ClockState {
  bool reads_tsc;
  bool is_monotonic_ns;       // time stamps are nanoseconds
  uint64_t ticks_per_second;  // measured against CLOCK_MONOTONIC, better the longer the process runs
  uint64_t start_tsc;
  uint64_t start_monotonic_ns;
  uint64_t left_tsc;  // the last time stamp before the TSC was taken away
  uint64_t left_monotonic_ns;
  uint64_t counter_mask;  // AArch64: the counter's bits that are no noise
};
extern ClockState g_clock;

// Chooses the clock. Called once, in the constructor; a forked child keeps the choice.
void StartClock();

// From now on nothing reads the TSC, which is about to become a fault.
void LeaveTsc();

// CLOCK_MONOTONIC or CLOCK_REALTIME.
uint64_t ClockNs(clockid_t id);

// Time stamps without the TSC.
uint64_t NowWithoutTsc();

// The time, in steps of 256 ticks or about a tenth of a microsecond. What is finer is noise, which a packed
// trace would have to keep.
inline uint64_t Now() {
  constexpr uint64_t kNoise = 255;
#if defined(__x86_64__)
  if (g_clock.reads_tsc) [[likely]]
    return __builtin_ia32_rdtsc() & ~kNoise;
#elif defined(__aarch64__)
  if (g_clock.reads_tsc) [[likely]] {
    uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks & g_clock.counter_mask;
  }
#endif
  return NowWithoutTsc() & ~kNoise;
}

// Corrects ticks_per_second; called whenever both clocks were just read.
void CalibrateClock(uint64_t tsc, uint64_t monotonic_ns);

inline uint64_t TicksOfMs(uint64_t ms) {
  return __atomic_load_n(&g_clock.ticks_per_second, __ATOMIC_RELAXED) / 1000 * ms;
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_CLOCK_H_

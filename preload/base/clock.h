// The clock of event time stamps: the TSC where it is invariant, CLOCK_MONOTONIC nanoseconds where it is not.
//
// Safe everywhere. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_BASE_CLOCK_H_
#define PLATEAU_PRELOAD_BASE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace plateau {

struct ClockState {
  bool is_monotonic_ns;       // time stamps are nanoseconds
  uint64_t ticks_per_second;  // measured against CLOCK_MONOTONIC, better the longer the process runs
  uint64_t start_tsc;
  uint64_t start_monotonic_ns;
};
extern ClockState g_clock;

// Chooses the clock. Called once, in the constructor; a forked child keeps the choice.
void StartClock();

inline uint64_t ClockNs(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The time, in steps of 256 ticks or about a tenth of a microsecond. What is finer is noise, which a packed
// trace would have to keep.
inline uint64_t Now() {
  constexpr uint64_t kNoise = 255;
#if defined(__x86_64__)
  if (!g_clock.is_monotonic_ns) [[likely]]
    return __builtin_ia32_rdtsc() & ~kNoise;
#endif
  return ClockNs(CLOCK_MONOTONIC) & ~kNoise;
}

// Corrects ticks_per_second; called whenever both clocks were just read.
void CalibrateClock(uint64_t tsc, uint64_t monotonic_ns);

inline uint64_t TicksOfMs(uint64_t ms) {
  return __atomic_load_n(&g_clock.ticks_per_second, __ATOMIC_RELAXED) / 1000 * ms;
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_CLOCK_H_

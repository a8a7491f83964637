// How long a walk may go on: so much time of its own thread, or half a second on any clock.
//
// What a walk costs the program is the time that its thread runs; on a busy machine the clock goes on while it does
// not. IsUp() reads the thread's clock only when the rest could be used up. One thread. Allocates: never.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_WALK_CLOCK_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_WALK_CLOCK_H_

#include <cstdint>

#include "preload/base/clock.h"

namespace plateau::python::holders {

inline uint64_t NsOfTicks(uint64_t ticks) {
  const uint64_t per_ms = TicksOfMs(1);
  return per_ms == 0 ? 0 : ticks * 1000 / per_ms * 1000;
}

class WalkClock {
 public:
  static constexpr uint64_t kMaxMs = 500;

  WalkClock()
      : begin_ns_(ClockNs(CLOCK_THREAD_CPUTIME_ID)),
        begin_tsc_(Now()),
        end_tsc_(begin_tsc_ + TicksOfMs(kMaxMs)) {}

  // From the begin on, not from now.
  void SetLimit(uint64_t limit_ns) {
    limit_ns_ = limit_ns;
    next_reading_tsc_ = 0;
  }

  void NotLongerThan(uint64_t limit_ns) {
    if (limit_ns < limit_ns_) SetLimit(limit_ns);
  }

  bool IsUp() {
    const uint64_t now = Now();
    if (now < next_reading_tsc_) return false;
    const uint64_t used_ns = UsedNs();
    if (used_ns >= limit_ns_ || now >= end_tsc_) return true;
    const uint64_t rest = (limit_ns_ - used_ns) / 1000 * TicksOfMs(1) / 1000;
    next_reading_tsc_ = now + rest < end_tsc_ ? now + rest : end_tsc_;
    return false;
  }

  // By the thread, and by the clock.
  uint64_t UsedNs() const { return ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin_ns_; }
  uint64_t ElapsedNs() const { return NsOfTicks(Now() - begin_tsc_); }

 private:
  uint64_t begin_ns_;
  uint64_t begin_tsc_;
  uint64_t end_tsc_;
  uint64_t limit_ns_ = UINT64_MAX;
  uint64_t next_reading_tsc_ = 0;
};

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_WALK_CLOCK_H_

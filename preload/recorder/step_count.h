// How many training steps this process has marked so far.
//
// Explicit marks win over what was found. Any thread. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_RECORDER_STEP_COUNT_H_
#define PLATEAU_PRELOAD_RECORDER_STEP_COUNT_H_

#include <atomic>
#include <cstdint>

namespace plateau {

struct StepCount {
  std::atomic<uint64_t> found{0};
  std::atomic<uint64_t> told{0};
};
inline constinit StepCount g_step_count;

inline uint64_t StepsMarked() {
  const uint64_t told = g_step_count.told.load(std::memory_order_relaxed);
  return told != 0 ? told : g_step_count.found.load(std::memory_order_relaxed);
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_STEP_COUNT_H_

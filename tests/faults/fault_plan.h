// What the shim with faults is told and what it tells, in a file of one page that both sides map.
//
// tests/e2e/faults_test.py writes and reads it, too: eight-byte fields in this order.
#ifndef PLATEAU_TESTS_FAULTS_FAULT_PLAN_H_
#define PLATEAU_TESTS_FAULTS_FAULT_PLAN_H_

#include <atomic>
#include <cstdint>

namespace plateau::faults {

struct FaultPlan {
  uint64_t fail_at;              // the call that fails, counted from 1 over all processes; 0: none
  uint64_t way;                  // in which of its ways it fails: an index of WaysToFail()
  uint64_t keep_failing;         // 1: so do all calls behind it, in their first way
  std::atomic<uint64_t> calls;   // made so far
  std::atomic<uint64_t> failed;  // how many failed
  uint64_t number;               // of the call at fail_at
  uint64_t error;                // its error number; kShort: it did half of its work
  uint64_t ways;                 // how many ways the call at fail_at has
};

inline constexpr uint64_t kShort = 1 << 16;

}  // namespace plateau::faults

#endif  // PLATEAU_TESTS_FAULTS_FAULT_PLAN_H_

// Which system calls of ours a seccomp filter of the program leaves us.
//
// A program that locks itself in lists the calls that it makes; a call that only we make may end it. So the hooks of prctl
// and syscall show us a filter before it counts, we ask it about each call of ours, and those that it would answer with a
// signal, a tracer or a supervisor fail here with EPERM from then on, before they reach the kernel. Calls that
// the filter answers with an error number or lets pass are made as before.
//
//   const CallSet before = ForbiddenCalls();
//   Forbid(FilteredCalls(program));      // then the real prctl(); when that fails:
//   AllowAgain(before);
//
// Safe everywhere. Allocates: never. Locks: never; Forbid() waits a moment for calls that other threads have begun.
#ifndef PLATEAU_PRELOAD_BASE_SYSTEM_FILTER_H_
#define PLATEAU_PRELOAD_BASE_SYSTEM_FILTER_H_

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>

namespace plateau::sys {

// A set of numbers of system calls.
struct CallSet {
  static constexpr long kNumbers = 512;
  uint64_t words[kNumbers / 64] = {};

  bool Has(long number) const {
    return number < 0 || number >= kNumbers || (words[number / 64] >> (number % 64) & 1) != 0;
  }
  void Add(long number) {
    if (number >= 0 && number < kNumbers) words[number / 64] |= uint64_t{1} << (number % 64);
  }
  bool empty() const {
    uint64_t any = 0;
    for (uint64_t word : words) any |= word;
    return any == 0;
  }
};

// The calls of ours that `program` does not simply let pass or fail. A filter that looks at arguments counts as
// the worst that it could answer.
CallSet FilteredCalls(const sock_fprog& program);
// Of strict mode, which knows read, write and the end of the process.
CallSet StrictlyFilteredCalls();

// Adds to the calls that fail.
void Forbid(const CallSet& calls);
void AllowAgain(const CallSet& calls);
CallSet ForbiddenCalls();
bool MayCall(long number);

// What a filter would answer to call `number` with any arguments: the worst SECCOMP_RET_* that can be reached.
uint32_t WorstAnswer(const sock_fprog& program, long number);

}  // namespace plateau::sys

#endif  // PLATEAU_PRELOAD_BASE_SYSTEM_FILTER_H_

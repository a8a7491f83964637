// prctl() and syscall(): the ways in which a program locks itself in with seccomp or takes the TSC away.
//
// Both change what we may do before the real call counts: see base/system_filter.h and base/clock.h. A program that makes
// the system call itself, in assembler, is not seen.
#ifndef PLATEAU_PRELOAD_HOOKS_SANDBOX_HOOKS_H_
#define PLATEAU_PRELOAD_HOOKS_SANDBOX_HOOKS_H_

namespace plateau {

int HookPrctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

}  // namespace plateau

// The entry of syscall() jumps here for the numbers that we look at, with registers and stack as the program left them.
extern "C" long plateau_watched_syscall(long number, long a, long b, long c, long d, long e, long f);

#endif  // PLATEAU_PRELOAD_HOOKS_SANDBOX_HOOKS_H_

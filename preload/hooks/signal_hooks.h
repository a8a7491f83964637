// SIGBUS: a trace that somebody cuts while it is mapped must not end the program.
//
// Touching a page of a shared mapping behind the end of its file raises SIGBUS. Our handler tells by the address whether the page
// was the trace's; then it puts private memory in its place and ends the recording. Any other SIGBUS goes where it would have
// gone without us: to the program's handler, or to the default, which ends the program. sigaction() and signal() show the program
// its own setting, never ours.
//
// Not covered: a thread that has SIGBUS blocked, which the kernel ends at once, and a program that ignores SIGBUS.
#ifndef PLATEAU_PRELOAD_HOOKS_SIGNAL_HOOKS_H_
#define PLATEAU_PRELOAD_HOOKS_SIGNAL_HOOKS_H_

#include <signal.h>

namespace plateau {

// Called when the recording has started.
void GuardMappedTrace();
// Gives the signal back to the program, unless somebody has put another handler in front of ours.
void StopGuarding();

int HookSigaction(int signal, const struct sigaction* action, struct sigaction* old);
sighandler_t HookSignal(int signal, sighandler_t handler);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_HOOKS_SIGNAL_HOOKS_H_

#include "preload/hooks/signal_hooks.h"

#include <errno.h>
#include <unistd.h>

#include "preload/base/real_functions.h"
#include "preload/base/spin_lock.h"
#include "preload/base/system_call.h"
#include "preload/recorder/file/trace_sink.h"
#include "preload/recorder/recording.h"

namespace plateau {
namespace {

constinit SpinLock g_lock;
constinit bool g_is_guarding = false;
constinit struct sigaction g_program = {};  // what the program has set, or found

void OnBus(int signal, siginfo_t* info, void* context);

bool Is(const struct sigaction& action, sighandler_t handler) { return action.sa_handler == handler; }

// Puts our handler in front of `program`, with its flags and mask, and remembers `program` as the kernel would show it.
int Install(const struct sigaction& program) {
  struct sigaction action = program, installed = {};
  if (!Is(program, SIG_IGN)) {
    action.sa_sigaction = OnBus;
    action.sa_flags = (program.sa_flags & ~static_cast<int>(SA_RESETHAND)) | SA_SIGINFO;
    if (Is(program, SIG_DFL)) action.sa_flags |= SA_ONSTACK | SA_RESTART;
  }
  const int result = g_real.sigaction(SIGBUS, &action, nullptr);
  if (result != 0) return result;
  g_program = program;
  // The C library adds a flag of its own to what it passes on.
  constexpr int kRestorer = 0x04000000;
  if (g_real.sigaction(SIGBUS, nullptr, &installed) == 0) {
    g_program.sa_flags |= installed.sa_flags & kRestorer;
    g_program.sa_restorer = installed.sa_restorer;
  }
  return 0;
}

// What the kernel would have done.
void PassOn(int signal, siginfo_t* info, void* context) {
  const struct sigaction program = g_program;
  if (!Is(program, SIG_DFL) && (program.sa_flags & SA_RESETHAND)) {
    struct sigaction once = program;
    once.sa_handler = SIG_DFL;
    Install(once);
  }
  if (Is(program, SIG_DFL)) {
    // Back to the instruction, which raises the signal again. One that was sent is sent again, and waits until we return.
    struct sigaction action = {};
    g_real.sigaction(SIGBUS, &action, nullptr);
    if (info->si_code <= 0)
      sys::KernelCall(SYS_tgkill, sys::KernelCall(SYS_getpid), sys::KernelCall(SYS_gettid), signal);
    return;
  }
  if (program.sa_flags & SA_SIGINFO) return program.sa_sigaction(signal, info, context);
  program.sa_handler(signal);
}

void OnBus(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const bool is_ours = info->si_code > 0 && g_sink.Owns(info->si_addr) && LoseTrace();
  errno = saved_errno;
  if (!is_ours) PassOn(signal, info, context);
}

}  // namespace

void GuardMappedTrace() {
  struct sigaction found;
  if (g_real.sigaction == nullptr || g_real.sigaction(SIGBUS, nullptr, &found) != 0) return;
  // A child of this program would find the signal ignored as well; a handler of ours would change that.
  if (Is(found, SIG_IGN) || Install(found) != 0) return;
  g_program = found;
  g_is_guarding = true;
}

void StopGuarding() {
  const SpinLockHolder holder(g_lock);
  struct sigaction found;
  if (!g_is_guarding || g_real.sigaction(SIGBUS, nullptr, &found) != 0) return;
  g_is_guarding = false;
  if (found.sa_sigaction == OnBus) g_real.sigaction(SIGBUS, &g_program, nullptr);
}

int HookSigaction(int signal, const struct sigaction* action, struct sigaction* old) {
  if (signal != SIGBUS || !g_is_guarding) return g_real.sigaction(signal, action, old);
  const SpinLockHolder holder(g_lock);
  const struct sigaction before = g_program;
  int result = 0;
  if (action != nullptr) {
    const struct sigaction wanted = *action;
    result = Install(wanted);
  }
  if (result == 0 && old != nullptr) *old = before;
  return result;
}

sighandler_t HookSignal(int signal, sighandler_t handler) {
  if (signal != SIGBUS || !g_is_guarding || handler == SIG_ERR) return g_real.signal(signal, handler);
  struct sigaction action = {}, old = {};
  action.sa_handler = handler;
  sigaddset(&action.sa_mask, signal);
  action.sa_flags = SA_RESTART;
  return HookSigaction(signal, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

}  // namespace plateau

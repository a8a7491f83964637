#include "preload/hooks/process_hooks.h"

#include <errno.h>
#include <sys/wait.h>

#include <atomic>

#include "preload/base/real_functions.h"
#include "preload/hooks/exec_hooks.h"
#include "preload/recorder/event.h"
#include "preload/recorder/parts.h"

extern "C" pid_t __wait(int* status);  // libc's, whoever else defines wait()

namespace plateau {
namespace {

// What a new thread finds out about its creator. A fixed pool: when it is used up, a thread starts without.
struct Launch {
  std::atomic<bool> taken;
  uint32_t creator_stream;
  uint32_t creator_stack;
  uint32_t recording;
  void* (*start)(void*);
  void* argument;
};
constexpr size_t kLaunches = 256;
constinit Launch g_launches[kLaunches] = {};

Launch* TakeLaunch() {
  for (Launch& launch : g_launches) {
    if (!launch.taken.load(std::memory_order_relaxed) &&
        !launch.taken.exchange(true, std::memory_order_acquire)) {
      return &launch;
    }
  }
  return nullptr;
}

void* RunThread(void* context) {
  auto* launch = static_cast<Launch*>(context);
  ThreadState& t = t_thread;
  t.creator_stream = launch->creator_stream;
  t.creator_stack = launch->creator_stack;
  t.creator_recording = launch->recording;
  void* (*start)(void*) = launch->start;
  void* argument = launch->argument;
  launch->taken.store(false, std::memory_order_release);
  return start(argument);
}

}  // namespace

[[gnu::noinline]] int HookPthreadCreate(pthread_t* thread, const pthread_attr_t* attributes,
                                        void* (*start)(void*), void* argument) {
  ResolveIfNeeded();
  const unwind::Registers registers = unwind::CallerRegisters();
  Launch* launch = nullptr;
  if (ThreadState& t = t_thread; const HookScope scope{t}) {
    ThreadBuffer* buffer = BufferFor(t, 0);
    if (buffer != nullptr && (launch = TakeLaunch()) != nullptr) {
      launch->creator_stream = buffer->stream();
      launch->creator_stack = StackOf(t, registers);
      launch->recording = RecordingNumber();
      launch->start = start;
      launch->argument = argument;
    }
    if (buffer != nullptr) ReleaseBuffer(t);
  }
  if (launch == nullptr) return g_real.pthread_create(thread, attributes, start, argument);
  const int result = g_real.pthread_create(thread, attributes, RunThread, launch);
  if (result != 0) launch->taken.store(false, std::memory_order_release);
  return result;
}

int HookDlclose(void* handle) {
  ResolveIfNeeded();
  CallParts(&Part::before_modules_go);
  const int result = g_real.dlclose(handle);
  const int saved_errno = errno;
  {
    EventScope scope;
    const OwnCallScope own(t_thread);
    CallParts(&Part::after_modules_went);
    if (scope) unwind::BumpGeneration(kDefinitionSink);
  }
  errno = saved_errno;
  return result;
}

void HookExit(int status) {
  FinishProcess();
  g_real.exit_now(status);
  __builtin_unreachable();
}

namespace {

void NoteEndedChild(pid_t child, int status) {
  if (child <= 0 || !WIFSIGNALED(status)) return;
  const int saved_errno = errno;
  RecordEndedChild(child, WTERMSIG(status));
  errno = saved_errno;
}

// The program may not want the status; the kernel is asked for it all the same.
template <typename RealWait>
pid_t WaitAndNote(int* status, const RealWait& real_wait) {
  int own_status = 0;
  int* const where = status != nullptr ? status : &own_status;
  const pid_t child = real_wait(where);
  if (child > 0) NoteEndedChild(child, *where);
  return child;
}

}  // namespace

long HookWait(long status, long b, long c, long d, long e, long f) {
  ResolveIfNeeded();
  // The word is short: a function of that name in another library need not wait for children at all. It gets all six
  // words that registers pass, and nothing between here and there touches those of floating point.
  using Any = long (*)(long, long, long, long, long, long);
  if (g_real.wait != __wait)
    return reinterpret_cast<Any>(reinterpret_cast<void (*)()>(g_real.wait))(status, b, c, d, e, f);
  return WaitAndNote(reinterpret_cast<int*>(status), [](int* where) { return g_real.wait(where); });
}

pid_t HookWait3(int* status, int options, struct rusage* usage) {
  ResolveIfNeeded();
  return WaitAndNote(status, [=](int* where) { return g_real.wait3(where, options, usage); });
}

pid_t HookWaitpid(pid_t pid, int* status, int options) {
  ResolveIfNeeded();
  return WaitAndNote(status, [=](int* where) { return g_real.waitpid(pid, where, options); });
}

pid_t HookWait4(pid_t pid, int* status, int options, struct rusage* usage) {
  ResolveIfNeeded();
  return WaitAndNote(status, [=](int* where) { return g_real.wait4(pid, where, options, usage); });
}

// A child that is only looked at (WNOWAIT) is noted when somebody takes it. Without a child to tell of (WNOHANG) the pid is 0.
int HookWaitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  ResolveIfNeeded();
  siginfo_t own_info = {};
  siginfo_t* const where = info != nullptr ? info : &own_info;
  const int result = g_real.waitid(type, id, where, options);
  if (result != 0 || (options & WNOWAIT) != 0) return result;
  const bool by_signal = where->si_code == CLD_KILLED || where->si_code == CLD_DUMPED;
  if (where->si_pid != 0 && by_signal) NoteEndedChild(where->si_pid, where->si_status & 0x7f);
  return result;
}

namespace {

[[gnu::destructor]] void AtExit() { FinishProcess(); }

}  // namespace
}  // namespace plateau

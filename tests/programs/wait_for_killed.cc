// Waits for children that signals ended, in the ways that programs do: in a handler of SIGCHLD while the program allocates,
// without asking for the status, by each function that waits, in a thread that is cancelled meanwhile. Prints what it was told.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ended;
static volatile sig_atomic_t killed;
static volatile sig_atomic_t changed_errno;

static pid_t Child(int signal) {
  const pid_t child = fork();
  if (child != 0) return child;
  if (signal != 0) kill(getpid(), signal);
  for (;;) pause();
}

static void OnChild(int) {
  const int before = errno;
  int status = 0;
  errno = 4711;
  for (;;) {
    const pid_t child = waitpid(-1, &status, WNOHANG);
    if (child <= 0) break;
    ended = ended + 1;
    killed = killed + (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 1 : 0);
    if (errno != 4711) changed_errno = changed_errno + 1;
  }
  errno = before;
}

static void InHandler() {
  struct sigaction action = {};
  action.sa_handler = OnChild;
  action.sa_flags = SA_RESTART;
  sigaction(SIGCHLD, &action, nullptr);
  constexpr int kChildren = 30;
  for (int i = 0; i < kChildren; ++i) {
    Child(SIGKILL);
    while (ended <= i) {
      for (int k = 0; k < 20; ++k) free(malloc(20002));
      usleep(200);  // the trace stays small
    }
  }
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);
  printf("handler %d %d, errno changed %d\n", static_cast<int>(ended), static_cast<int>(killed),
         static_cast<int>(changed_errno));
}

static void WithoutStatus() {
  pid_t child = Child(SIGTERM);
  printf("no status %d\n", waitpid(child, nullptr, 0) == child);
  child = Child(SIGTERM);
  struct rusage usage = {};
  printf("no status %d %d\n", wait4(child, nullptr, 0, &usage) == child, usage.ru_maxrss > 0);
  int status = 4711;
  child = Child(0);
  printf("nothing %d %d\n", static_cast<int>(waitpid(child, &status, WNOHANG)), status);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  errno = 0;
  const pid_t nobody = waitpid(child, &status, 0);
  printf("nobody %d %d\n", static_cast<int>(nobody), errno);
}

// Each signal of these is to be noted once: 1, 2, 10, 12, 14, 13 and 6.
static void InOtherWays() {
  int status = 0;
  struct rusage usage = {};
  pid_t child = Child(SIGHUP);
  printf("wait %d %d\n", wait(&status) == child, status);
  child = Child(SIGINT);
  printf("wait, no status %d\n", wait(nullptr) == child);
  child = Child(SIGUSR1);
  errno = 4711;
  printf("wait3 %d %d", wait3(&status, 0, &usage) == child, status);
  printf(" %d %d\n", usage.ru_maxrss > 0, errno);
  child = Child(0);
  status = 4711;
  printf("wait3, nothing %d %d\n", static_cast<int>(wait3(&status, WNOHANG, nullptr)), status);
  kill(child, SIGUSR2);
  siginfo_t info = {};
  int result = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED);
  printf("waitid %d %d %d %d %d\n", result, info.si_pid == child, info.si_code, info.si_status,
         info.si_signo);
  child = Child(SIGALRM);
  result = waitid(P_ALL, 0, nullptr, WEXITED);
  printf("waitid, no info %d\n", result);
  errno = 0;
  result = static_cast<int>(wait(nullptr));
  printf("nobody %d %d\n", result, errno);
  errno = 0;
  result = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED);
  printf("waitid, nobody %d %d\n", result, errno);
  errno = 0;
  result = waitid(P_PID, static_cast<id_t>(getpid()), &info, 0);
  printf("waitid, for nothing %d %d\n", result, errno);
}

// What is looked at, stopped or over by itself is no child that a signal ended.
static void WithWaitid() {
  siginfo_t info = {};
  pid_t child = Child(0);
  memset(&info, 0x55, sizeof info);
  int result = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG);
  printf("waitid, nothing %d %d %d\n", result, info.si_pid, info.si_signo);
  kill(child, SIGSTOP);
  result = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WSTOPPED);
  printf("stopped %d %d %d\n", result, info.si_code == CLD_STOPPED, info.si_status);
  kill(child, SIGCONT);
  result = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WCONTINUED);
  printf("continued %d %d %d\n", result, info.si_code == CLD_CONTINUED, info.si_status);
  kill(child, SIGPIPE);
  for (int i = 0; i < 3; ++i) {
    result = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
    printf("looked at %d %d %d\n", result, info.si_code == CLD_KILLED, info.si_status);
  }
  result = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG);
  printf("taken %d %d %d\n", result, info.si_code == CLD_KILLED, info.si_status);
  child = fork();
  if (child == 0) _exit(SIGKILL);
  result = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED);
  printf("exited %d %d %d\n", result, info.si_code == CLD_EXITED, info.si_status);
  child = fork();
  if (child == 0) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    abort();
  }
  result = waitid(P_PGID, static_cast<id_t>(getpgrp()), &info, WEXITED);
  printf("aborted %d %d\n", result, info.si_status);
}

static pid_t waited_for;

static void* Waitpid(void*) {
  int status = 0;
  waitpid(waited_for, &status, 0);
  return nullptr;
}

static void* Wait4(void*) {
  int status = 0;
  wait4(waited_for, &status, 0, nullptr);
  return nullptr;
}

static void* Wait(void*) {
  wait(nullptr);
  return nullptr;
}

static void* Wait3(void*) {
  wait3(nullptr, 0, nullptr);
  return nullptr;
}

static void* Waitid(void*) {
  siginfo_t info = {};
  waitid(P_PID, static_cast<id_t>(waited_for), &info, WEXITED);
  return nullptr;
}

static void Cancelled(const char* name, void* (*wait)(void*)) {
  waited_for = Child(0);
  pthread_t thread;
  pthread_create(&thread, nullptr, wait, nullptr);
  usleep(50'000);
  pthread_cancel(thread);
  void* result = nullptr;
  pthread_join(thread, &result);
  kill(waited_for, SIGKILL);
  waitpid(waited_for, nullptr, 0);
  printf("%s cancelled %d\n", name, result == PTHREAD_CANCELED);
}

static void InVforkChild() {
  const pid_t killed_child = Child(SIGKILL);
  const pid_t child = vfork();
  if (child == 0) _exit(waitpid(killed_child, nullptr, WNOHANG) < 0 && errno == ECHILD ? 3 : 4);
  int status = 0;
  waitpid(child, &status, 0);
  waitpid(killed_child, nullptr, 0);
  printf("vfork %d\n", WEXITSTATUS(status));
}

int main() {
  alarm(120);
  InHandler();
  WithoutStatus();
  InOtherWays();
  WithWaitid();
  Cancelled("waitpid", Waitpid);
  Cancelled("wait4", Wait4);
  Cancelled("wait", Wait);
  Cancelled("wait3", Wait3);
  Cancelled("waitid", Waitid);
  InVforkChild();
  return 0;
}

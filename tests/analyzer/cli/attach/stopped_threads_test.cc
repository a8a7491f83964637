#include "analyzer/cli/attach/stopped_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plateau::cli {
namespace {

TEST(StoppedThreadsTest, AThreadThatHasEndedIsNoHindrance) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_t other;
    pthread_create(
        &other, nullptr,
        [](void*) -> void* {
          for (;;) pause();
        },
        nullptr);
    syscall(SYS_exit, 0);  // of this thread alone: it stays listed, as a zombie
  }
  const TargetProcess target(child);
  while (target.Status("State")[0] != 'Z') usleep(1000);
  StoppedThreads stopped(target);
  const absl::Status status = stopped.Stop(10'000);
  if (absl::IsPermissionDenied(status) && geteuid() != 0) GTEST_SKIP() << "no right to use ptrace here";
  EXPECT_TRUE(status.ok()) << status;
  stopped.LetGo();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(StoppedThreadsTest, AProcessThatHasEndedIsNotFound) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const TargetProcess target(child);
  StoppedThreads stopped(target);
  EXPECT_TRUE(absl::IsNotFound(stopped.Stop(1000)));
}

}  // namespace
}  // namespace plateau::cli

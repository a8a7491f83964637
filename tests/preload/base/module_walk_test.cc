#include "preload/base/module_walk.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace plateau {
namespace {

constexpr useconds_t kInsideUs = 200'000;

std::atomic<bool> g_inside{false}, g_leave{false};

int StayFor200Ms(dl_phdr_info*, size_t, void*) {
  g_inside = true;
  usleep(kInsideUs);
  return 1;
}
int StayUntilTold(dl_phdr_info*, size_t, void*) {
  g_inside = true;
  while (!g_leave) usleep(1000);
  return 1;
}
int Count(dl_phdr_info*, size_t, void* count) {
  ++*static_cast<int*>(count);
  return 0;
}
int WalkInside(dl_phdr_info*, size_t, void* count) { return WalkModules(Count, count) + 1; }

void WaitForWalk() {
  while (!g_inside) usleep(100);
}

// The child's answer: what `ask` returned, or 100 + the signal that ended it.
template <typename Ask>
int InChild(pid_t child, Ask ask) {
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    _exit(ask());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

class ModuleWalkTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { PrepareModuleWalks(); }
  void SetUp() override { g_inside = g_leave = false; }
};

TEST_F(ModuleWalkTest, VisitsWhatTheLoaderLists) {
  int walked = 0, listed = 0;
  EXPECT_EQ(WalkModules(Count, &walked), 0);
  dl_iterate_phdr(Count, &listed);
  EXPECT_EQ(walked, listed);
  int nested = 0;
  EXPECT_EQ(WalkModules(WalkInside, &nested), 1);
  EXPECT_EQ(nested, listed);
}

TEST_F(ModuleWalkTest, AForkWaitsForAWalkSoThatTheChildHasALoader) {
  std::thread walker([] { WalkModules(StayFor200Ms, nullptr); });
  WaitForWalk();
  const int answer = InChild(fork(), [] {
    int listed = 0;
    dl_iterate_phdr(Count, &listed);  // would wait for ever
    int walked = 0;
    WalkModules(Count, &walked);
    return IsLoaderUsable() && walked == listed ? 7 : 8;
  });
  walker.join();
  EXPECT_EQ(answer, 7);
}

TEST_F(ModuleWalkTest, AChildOfAProgramThatWalksItselfVisitsNothing) {
  std::thread walker([] { dl_iterate_phdr(StayUntilTold, nullptr); });
  WaitForWalk();
  const auto ask = [] {
    int walked = 0;
    ResetModuleWalksInChild();
    WalkModules(Count, &walked);
    return !IsLoaderUsable() && walked == 0 ? 7 : 8;
  };
  EXPECT_EQ(InChild(fork(), ask), 7);
  EXPECT_EQ(InChild(static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)), ask), 7);
  g_leave = true;
  walker.join();
  EXPECT_TRUE(IsLoaderUsable());
}

TEST_F(ModuleWalkTest, AForkFromInsideAWalkDoesNotWait) {
  const auto fork_inside = [](dl_phdr_info*, size_t, void*) {
    return InChild(fork(), [] { return IsLoaderUsable() ? 8 : 7; });
  };
  EXPECT_EQ(WalkModules(fork_inside, nullptr), 7);
}

TEST_F(ModuleWalkTest, WalksAndForksInManyThreadsEnd) {
  std::atomic<bool> stop{false};
  std::thread walkers[3];
  for (std::thread& walker : walkers) {
    walker = std::thread([&stop] {
      for (int count = 0; !stop;) WalkModules(Count, &count);
    });
  }
  const auto forks = [] {
    for (int i = 0; i < 40; ++i) {
      const int answer = InChild(fork(), [] {
        int listed = 0;
        dl_iterate_phdr(Count, &listed);
        return listed > 0 && IsLoaderUsable() ? 7 : 8;
      });
      ASSERT_EQ(answer, 7);
    }
  };
  std::thread other(forks);
  forks();
  other.join();
  stop = true;
  for (std::thread& walker : walkers) walker.join();
}

}  // namespace
}  // namespace plateau

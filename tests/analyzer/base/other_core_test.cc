#include "analyzer/base/other_core.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace plateau {
namespace {

cpu_set_t AllowedFor(pthread_t thread) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  EXPECT_EQ(pthread_getaffinity_np(thread, sizeof(allowed), &allowed), 0);
  return allowed;
}

TEST(OtherCoreTest, AThreadIsSentAwayAndMayGoWhereItLikesThen) {
  const cpu_set_t before = AllowedFor(pthread_self());
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one core";
  const int here = sched_getcpu();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(here, &one);
  std::atomic<bool> has_seen_other = false, is_over = false;
  std::thread other([&] {
    while (!is_over) has_seen_other = has_seen_other || sched_getcpu() != here;
  });
  // On this core first, where it must share it with this thread.
  ASSERT_EQ(pthread_setaffinity_np(other.native_handle(), sizeof(one), &one), 0);
  ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof(one), &one), 0);
  has_seen_other = false;
  ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof(before), &before), 0);
  SendToOtherCore(other.native_handle());
  while (!has_seen_other) sched_yield();
  const cpu_set_t after = AllowedFor(other.native_handle());
  EXPECT_TRUE(CPU_EQUAL(&after, &before));
  is_over = true;
  other.join();
}

TEST(OtherCoreTest, WithOneCoreOrAThreadThatIsOverNothingHappens) {
  std::thread alone([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof(one), &one), 0);
    std::atomic<bool> is_over = false;
    std::thread child([&is_over] {
      while (!is_over) sched_yield();
    });
    SendToOtherCore(child.native_handle());
    const cpu_set_t after = AllowedFor(child.native_handle());
    EXPECT_TRUE(CPU_EQUAL(&after, &one));
    is_over = true;
    child.join();
  });
  alone.join();
  std::thread short_lived([] {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  SendToOtherCore(short_lived.native_handle());
  short_lived.join();
}

TEST(WorkOnThreadsTest, EachPartIsDoneOnce) {
  for (const size_t threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> done(8);
    const std::thread::id here = std::this_thread::get_id();
    WorkOnThreads(threads, [&](size_t part) {
      ++done[part];
      EXPECT_EQ(std::this_thread::get_id() == here, part == 0);
    });
    for (size_t part = 0; part < done.size(); ++part)
      EXPECT_EQ(done[part], part < std::max<size_t>(threads, 1) ? 1 : 0)
          << threads << " threads, part " << part;
  }
}

int SumWithoutThreads() {
  const rlimit none{1 << 20, 1 << 20};  // of address space: there is no room for a stack
  setrlimit(RLIMIT_AS, &none);
  int sum = 0;
  WorkOnThreads(4, [&sum](size_t part) { sum += static_cast<int>(part); });
  return sum;
}

// In a process of its own, which cannot make threads any more.
TEST(WorkOnThreadsTest, WithoutThreadsThisOneDoesAll) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need address space";
#endif
  EXPECT_EXIT(_exit(SumWithoutThreads()), testing::ExitedWithCode(1 + 2 + 3), "");
}

}  // namespace
}  // namespace plateau

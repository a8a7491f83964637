#include "analyzer/base/other_core.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

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

}  // namespace
}  // namespace plateau

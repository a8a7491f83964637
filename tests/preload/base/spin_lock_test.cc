#include "preload/base/spin_lock.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace plateau {
namespace {

TEST(SpinLockTest, OneThreadAtATimeIsInside) {
  SpinLock lock;
  uint64_t counter = 0;  // not atomic: a second thread inside would lose counts
  uint64_t refused[4] = {};
  std::vector<std::thread> threads;
  for (uint64_t& mine : refused) {
    threads.emplace_back([&lock, &counter, &mine] {
      for (int i = 0; i < 20000; ++i) {
        SpinLockHolder holder(lock);
        if (holder) {
          ++counter;
        } else {
          ++mine;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter + refused[0] + refused[1] + refused[2] + refused[3], 80000u);
}

TEST(SpinLockTest, ALockThatStaysBusyIsGivenUp) {
  SpinLock lock;
  ASSERT_TRUE(lock.Acquire());
  SpinLockHolder holder(lock);
  EXPECT_FALSE(holder);
  lock.Release();
  EXPECT_TRUE(lock.Acquire());
}

}  // namespace
}  // namespace plateau

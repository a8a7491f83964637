#include "analyzer/base/work_on_threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace plateau {
namespace {

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

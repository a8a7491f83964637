#include "preload/ledger/counts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "preload/base/clock.h"
#include "preload/base/system_call.h"

namespace plateau {
namespace {

using trace::LedgerField;

// As many as these are open, beside what the test program has.
class OpenFiles {
 public:
  explicit OpenFiles(int count) {
    for (int i = 0; i < count; ++i) files_.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  ~OpenFiles() {
    for (int file : files_) close(file);
  }

 private:
  std::vector<int> files_;
};

TEST(CountsTest, EveryOpenFileCounts) {
  const std::optional<uint64_t> before = CountOpenFiles();
  ASSERT_TRUE(before.has_value());
  EXPECT_GT(*before, 0u);
  const OpenFiles files(101);
  EXPECT_EQ(CountOpenFiles(), *before + 101);
}

TEST(CountsTest, ListingTheFolderGivesTheSameCountWhateverTheBufferHolds) {
  const OpenFiles files(301);
  const std::optional<uint64_t> counted = CountOpenFiles();
  const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(folder, 0);
  const std::optional<uint64_t> listed = ListOpenFiles(folder);
  close(folder);
  ASSERT_TRUE(counted.has_value());
  EXPECT_EQ(listed, *counted + 1);  // the folder itself
}

TEST(CountsTest, EveryMappingCounts) {
  constexpr int kMaps = 150;
  const std::optional<uint64_t> before = CountMappings();
  ASSERT_TRUE(before.has_value());
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<void*> maps;
  // Neighbours would be joined, so every other one differs in what is allowed.
  for (int i = 0; i < kMaps; ++i) {
    maps.push_back(mmap(nullptr, page, i % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(maps.back(), MAP_FAILED);
  }
  const std::optional<uint64_t> after = CountMappings();
  for (void* map : maps) munmap(map, page);
  ASSERT_TRUE(after.has_value());
  EXPECT_GE(*after, *before + kMaps - 2);  // the first and the last may join what was there
  EXPECT_LE(*after, *before + kMaps + 2);
}

TEST(CountsTest, TheyAreNotDueAgainAtOnce) {
  StartClock();
  ResetCounts();
  trace::LedgerRecord record;
  record.count = 0;
  const uint64_t begin = Now();
  AddCounts(begin, &record);
  const uint64_t cost = Now() - begin;
  ASSERT_EQ(record.count, 2u);
  EXPECT_EQ(record.fields[0].field, LedgerField::kOpenFiles);
  EXPECT_EQ(record.fields[1].field, LedgerField::kMappings);
  AddCounts(begin + cost, &record);
  EXPECT_EQ(record.count, 2u);
  AddCounts(begin + 2 * kCountCostDivisor * cost, &record);
  EXPECT_EQ(record.count, 4u);
}

// Whatever the kernel refuses, there is no field, and nothing stays open.
TEST(CountsTest, WhatCannotBeReadIsNoField) {
  const std::optional<uint64_t> before = CountOpenFiles();
  for (const long refused : {SYS_openat, SYS_read}) {
    static long number;
    number = refused;
    sys::g_interceptor.store([](long n, long a, long b, long c, long d, long e, long f) {
      return n == number ? -EPERM : sys::KernelCall(n, a, b, c, d, e, f);
    });
    EXPECT_FALSE(CountMappings().has_value());
    sys::g_interceptor.store(nullptr);
  }
  sys::g_interceptor.store([](long n, long a, long b, long c, long d, long e, long f) {
    const bool refused = n == SYS_fstat || n == SYS_getdents64;
    return refused ? -EPERM : sys::KernelCall(n, a, b, c, d, e, f);
  });
  EXPECT_FALSE(CountOpenFiles().has_value());
  sys::g_interceptor.store(nullptr);
  EXPECT_EQ(CountOpenFiles(), before);
}

}  // namespace
}  // namespace plateau

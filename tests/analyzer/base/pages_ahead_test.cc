#include "analyzer/base/pages_ahead.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "analyzer/base/zeroed_array.h"

namespace plateau {
namespace {

constexpr size_t kPage = PagesAhead::kPageBytes;

// How much of the memory is there, in bytes.
size_t Resident(ZeroedArray<char>* memory) {
  const size_t page = static_cast<size_t>(getpagesize());
  std::vector<unsigned char> pages((memory->size() + page - 1) / page);
  EXPECT_EQ(mincore(memory->data(), memory->size(), pages.data()), 0);
  size_t count = 0;
  for (const unsigned char is_there : pages) count += is_there & 1;
  return count * page;
}

bool CanPrepare() {
  ZeroedArray<char> memory(kPage);
  return madvise(memory.data(), kPage, MADV_POPULATE_WRITE) == 0;
}

TEST(PagesAheadTest, MemoryIsReadyAsFarAheadAsSaidAndNoFurther) {
  if (!CanPrepare()) GTEST_SKIP() << "this kernel has no MADV_POPULATE_WRITE";
  ZeroedArray<char> memory(16 * kPage);
  PagesAhead ahead;
  EXPECT_FALSE(ahead.Prepare()) << "there is no memory yet";
  ahead.Begin(memory.data(), memory.size());
  EXPECT_FALSE(ahead.Prepare()) << "nothing is used";
  ahead.Use(memory.data() + PagesAhead::kWorthIt - 1);
  EXPECT_FALSE(ahead.Prepare()) << "too little is";
  EXPECT_EQ(Resident(&memory), 0u);
  ahead.Use(memory.data() + kPage / 2);
  while (ahead.Prepare()) {
  }
  EXPECT_EQ(Resident(&memory), 2 * kPage);  // the second and third page; the first is the owner's
  memory[kPage + 5] = 1;
  ahead.Use(memory.data() + 9 * kPage / 2);  // faster than who prepares: what lies behind is left alone
  while (ahead.Prepare()) {
  }
  EXPECT_EQ(Resident(&memory), 4 * kPage);
  EXPECT_EQ(memory[kPage + 5], 1) << "what memory holds stays";
}

TEST(PagesAheadTest, NothingIsTouchedBehindTheEnd) {
  if (!CanPrepare()) GTEST_SKIP() << "this kernel has no MADV_POPULATE_WRITE";
  ZeroedArray<char> memory(4 * kPage);
  PagesAhead ahead;
  ahead.Begin(memory.data(), 2 * kPage + 100);
  ahead.Use(memory.data() + kPage / 2);
  EXPECT_TRUE(ahead.Prepare());
  EXPECT_FALSE(ahead.Prepare()) << "what is left is less than a page";
  EXPECT_EQ(Resident(&memory), kPage);
}

TEST(PagesAheadTest, MemoryThatIsGoneIsGivenUp) {
  ZeroedArray<char> memory(8 * kPage);
  PagesAhead ahead;
  ahead.Begin(memory.data(), memory.size());
  ahead.Use(memory.data() + kPage / 2);
  ASSERT_EQ(munmap(memory.data() + kPage, kPage), 0);
  EXPECT_FALSE(ahead.Prepare());
  ahead.Use(memory.data() + 5 * kPage / 2);
  EXPECT_FALSE(ahead.Prepare());
  EXPECT_EQ(mmap(memory.data() + kPage, kPage, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            memory.data() + kPage);
  if (!CanPrepare()) return;
  ahead.Begin(memory.data(), memory.size());
  ahead.Use(memory.data() + kPage / 2);
  EXPECT_TRUE(ahead.Prepare());
}

}  // namespace
}  // namespace plateau

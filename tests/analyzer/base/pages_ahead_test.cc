#include "analyzer/base/pages_ahead.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>
#include <utility>
#include <vector>

#include "analyzer/base/zeroed_array.h"

namespace plateau {
namespace {

constexpr size_t kPiece = PagesAhead::kPieceBytes;
constexpr size_t kStep = PagesAhead::kLongestStep;

// Which bytes of the memory are there: from where to where, when it is one stretch.
std::pair<size_t, size_t> Resident(ZeroedArray<char>* memory) {
  const size_t page = static_cast<size_t>(getpagesize());
  std::vector<unsigned char> pages((memory->size() + page - 1) / page);
  EXPECT_EQ(mincore(memory->data(), memory->size(), pages.data()), 0);
  size_t begin = 0;
  while (begin < pages.size() && !(pages[begin] & 1)) ++begin;
  size_t end = begin;
  while (end < pages.size() && (pages[end] & 1)) ++end;
  for (size_t i = end; i < pages.size(); ++i) EXPECT_FALSE(pages[i] & 1) << "another stretch at page " << i;
  return {begin * page, end * page};
}
using Stretch = std::pair<size_t, size_t>;

class PagesAheadTest : public testing::Test {
 protected:
  void SetUp() override {
    ZeroedArray<char> memory(1 << 20);
    if (madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE) != 0)
      GTEST_SKIP() << "this kernel has no MADV_POPULATE_WRITE";
  }
};

TEST_F(PagesAheadTest, APieceIsReadyBeyondWhatIsUsed) {
  ZeroedArray<char> memory(8 << 20);
  EXPECT_EQ(Resident(&memory).second, memory.size()) << "nothing is there yet: begin and end are the end";
  memory.Reach(100);
  EXPECT_EQ(Resident(&memory), Stretch(0, kPiece));
  memory[5] = 1;
  memory.Reach(kPiece - 1);
  EXPECT_EQ(Resident(&memory), Stretch(0, kPiece)) << "that is ready";
  memory.Reach(kPiece);
  EXPECT_EQ(Resident(&memory), Stretch(0, 2 * kPiece));
  memory.Reach(2 * kPiece + kStep);
  EXPECT_EQ(Resident(&memory), Stretch(0, 3 * kPiece + kStep)) << "with what lies between";
  EXPECT_EQ(memory[5], 1) << "what memory holds stays";
}

TEST_F(PagesAheadTest, AJumpLeavesOutWhatLiesBetween) {
  ZeroedArray<char> memory(64 << 20);
  memory.Reach(kStep + 4096);
  EXPECT_EQ(Resident(&memory).first, memory.size())
      << "not even the page itself, which is about to be touched";
  memory.Reach(kStep + 8192);
  EXPECT_EQ(Resident(&memory), Stretch(kStep + 8192, kStep + 8192 + kPiece));
  memory.Reach(5);  // behind: as if nobody had been there
  EXPECT_EQ(Resident(&memory).first, kStep + 8192);
}

TEST_F(PagesAheadTest, NothingIsTouchedBehindTheEnd) {
  ZeroedArray<char> memory(1 << 20);
  const size_t bytes = kPiece + 4096 + 100;
  PagesAhead ahead(memory.data(), bytes);
  ahead.Use(memory.data() + kPiece);
  EXPECT_EQ(Resident(&memory), Stretch(0, kPiece + 4096)) << "whole pages alone";
  ahead.Use(memory.data() + bytes - 1);
  ahead.Use(memory.data() + memory.size() - 1);
  ahead.UseAllBefore(memory.data() + memory.size());
  EXPECT_EQ(Resident(&memory), Stretch(0, kPiece + 4096));
  PagesAhead().Use(memory.data() + memory.size() - 1);
  EXPECT_EQ(Resident(&memory), Stretch(0, kPiece + 4096)) << "that of no memory";
}

TEST_F(PagesAheadTest, AllAtOnce) {
  ZeroedArray<char> memory(8 << 20);
  memory.Reach(0);
  memory.ReachAll(3 << 20);
  EXPECT_EQ(Resident(&memory), Stretch(0, 3 << 20));
  memory.ReachAll(1 << 20);
  EXPECT_EQ(Resident(&memory), Stretch(0, 3 << 20));
  memory.ReachAll(memory.size());
  EXPECT_EQ(Resident(&memory), Stretch(0, memory.size()));
}

TEST_F(PagesAheadTest, GoesAlongWithAnArrayThatMoves) {
  ZeroedArray<char> memory(1 << 20);
  memory.Reach(0);
  ZeroedArray<char> moved = std::move(memory);
  moved.Reach(kPiece);
  EXPECT_EQ(Resident(&moved), Stretch(0, 2 * kPiece));
  ZeroedArray<char> other(1 << 20);
  other = std::move(moved);
  other.Reach(2 * kPiece);
  EXPECT_EQ(Resident(&other), Stretch(0, 3 * kPiece));
}

TEST_F(PagesAheadTest, ThreadsMeetInIt) {
  ZeroedArray<char> memory(32 << 20);
  const auto write_every = [&memory](size_t first) {
    for (size_t i = first; i < memory.size(); i += 2 * 4096) {
      memory.Reach(i);
      ++memory[i];
    }
  };
  std::thread other(write_every, 4096);
  write_every(0);
  other.join();
  size_t written = 0;
  for (size_t i = 0; i < memory.size(); i += 4096) written += memory[i] == 1;
  EXPECT_EQ(written, memory.size() / 4096);
}

// Small arrays share pages with others.
TEST(ZeroedArrayTest, ASmallOneIsReadyAnyway) {
  ZeroedArray<char> memory(1000);
  memory.Reach(999);
  memory.ReachAll(1000);
  for (size_t i = 0; i < memory.size(); ++i) ASSERT_EQ(memory[i], 0);
}

}  // namespace
}  // namespace plateau

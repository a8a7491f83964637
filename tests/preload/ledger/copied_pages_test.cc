#include "preload/ledger/copied_pages.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "preload/base/clock.h"
#include "preload/trace/format.h"
#include "preload/trace/varint.h"

namespace plateau {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kPages = 64;
constexpr int kRight = 0, kNoPagemap = 1, kWrong = 2;

struct Wanted {
  uint64_t copied;
  uint64_t shared;
  bool has_copied = false;
  bool has_shared = false;
  bool has_any = false;
};

// Looks for two pages in the runs of one record: the first page, or its distance from the end of the run before,
// and the number of pages.
void LookAt(void* context, std::string_view runs) {
  auto* wanted = static_cast<Wanted*>(context);
  const auto* p = reinterpret_cast<const uint8_t*>(runs.data());
  const uint8_t* const end = p + runs.size();
  uint64_t page = 0;
  while (p != nullptr && p < end) {
    uint64_t distance = 0, count = 0;
    p = trace::GetVarint(p, end, &distance);
    if (p != nullptr) p = trace::GetVarint(p, end, &count);
    page += distance;
    wanted->has_any = true;
    if (wanted->copied >= page && wanted->copied < page + count) wanted->has_copied = true;
    if (wanted->shared >= page && wanted->shared < page + count) wanted->has_shared = true;
    page += count;
  }
}

int LookInChild(char* memory) {
  memory[5 * kPageBytes] = 2;  // this page is copied now, its neighbours are still shared
  StartClock();
  ResetCopiedPages();
  const uint64_t first = reinterpret_cast<uintptr_t>(memory) / kPageBytes;
  Wanted wanted = {.copied = first + 5, .shared = first + 6};
  MaybeReadCopiedPages(64 << 20, /*is_last=*/false, {&wanted, LookAt});
  if (!wanted.has_any) return kNoPagemap;
  return wanted.has_copied && !wanted.has_shared ? kRight : kWrong;
}

// The first look is followed by a pause, in which this child writes a page and ends.
int LookAtTheEndOfAChild(char* memory) {
  if (const int first_look = LookInChild(memory); first_look != kRight) return first_look;
  memory[7 * kPageBytes] = 2;
  const uint64_t first = reinterpret_cast<uintptr_t>(memory) / kPageBytes;
  Wanted wanted = {.copied = first + 7, .shared = first + 6};
  MaybeReadCopiedPages(128 << 20, /*is_last=*/true, {&wanted, LookAt});
  return wanted.has_copied && !wanted.has_shared ? kRight : kWrong;
}

// What `look` says in a child that shares `memory` with this process.
void ExpectRightInChild(int (*look)(char* memory)) {
  auto* memory = static_cast<char*>(
      mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  // Huge pages would be copied as a whole.
  madvise(memory, kPages * kPageBytes, MADV_NOHUGEPAGE);
  std::memset(memory, 1, kPages * kPageBytes);
  const pid_t child = fork();
  if (child == 0) _exit(look(memory));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  munmap(memory, kPages * kPageBytes);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoPagemap) GTEST_SKIP() << "the kernel keeps /proc/self/pagemap closed";
  EXPECT_EQ(WEXITSTATUS(status), kRight);
}

TEST(CopiedPagesTest, AChildSeesThePageItWroteAndNotTheOneItShares) { ExpectRightInChild(LookInChild); }

TEST(CopiedPagesTest, AChildThatEndsIsLookedAtOnceMore) { ExpectRightInChild(LookAtTheEndOfAChild); }

TEST(CopiedPagesTest, NothingIsReadBeforePrivateMemoryHasGrown) {
  StartClock();
  ResetCopiedPages();
  Wanted wanted = {};
  MaybeReadCopiedPages(1000, /*is_last=*/true, {&wanted, LookAt});
  EXPECT_FALSE(wanted.has_any);
}

}  // namespace
}  // namespace plateau

#include "preload/base/raw_memory.h"

#include <signal.h>
#include <sys/mman.h>

#include <cstring>

#include "gtest/gtest.h"

namespace plateau::unwind {
namespace {

TEST(RawMemoryTest, MappedMemoryIsZeroAndZeroAgainAfterItWasDropped) {
  auto* memory = static_cast<unsigned char*>(MapZeroed(8192));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory[8191], 0);
  memory[8191] = 1;
  DropPages(memory, 8192);
  EXPECT_EQ(memory[8191], 0);
}

TEST(RawMemoryTest, LockedPagesReadAsZeroToo) {
  auto* memory = static_cast<unsigned char*>(MapZeroed(8192));
  ASSERT_NE(memory, nullptr);
  if (mlock(memory, 8192) != 0) GTEST_SKIP() << "no memory may be locked here";
  memory[0] = memory[8191] = 1;
  DropPages(memory, 8192);
  EXPECT_EQ(memory[0], 0);
  EXPECT_EQ(memory[8191], 0);
}

TEST(RawMemoryTest, OnlyMappedReadableMemoryIsReadable) {
  auto* memory = static_cast<char*>(MapZeroed(8192));
  ASSERT_NE(memory, nullptr);
  ASSERT_EQ(mprotect(memory + 4096, 4096, PROT_NONE), 0);
  EXPECT_TRUE(IsReadable(reinterpret_cast<uintptr_t>(memory + 4088)));
  EXPECT_FALSE(IsReadable(reinterpret_cast<uintptr_t>(memory + 4096)));
  EXPECT_FALSE(IsReadable(0));
}

TEST(RawMemoryTest, AskingLeavesTheSignalMaskAlone) {
  sigset_t before, after;
  sigprocmask(SIG_SETMASK, nullptr, &before);
  const uint64_t all = ~uint64_t{0};
  EXPECT_TRUE(IsReadable(reinterpret_cast<uintptr_t>(&all)));
  sigprocmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(std::memcmp(&before, &after, 8), 0);
}

}  // namespace
}  // namespace plateau::unwind

#include "preload/unwind/stack_bounds.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <thread>

namespace plateau::unwind {
namespace {

// What the C library says of the calling thread.
StackBounds Expected() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &begin, &bytes);
  pthread_attr_destroy(&attributes);
  return {reinterpret_cast<uintptr_t>(begin), reinterpret_cast<uintptr_t>(begin) + bytes};
}

void ExpectOwnStack() {
  const StackBounds bounds = CurrentStackBounds();
  const StackBounds expected = Expected();
  const auto here = reinterpret_cast<uintptr_t>(&bounds);
  EXPECT_LE(bounds.begin, here);
  EXPECT_GT(bounds.end, here);
  EXPECT_LE(bounds.end, expected.end);  // never beyond what can be read
}

TEST(StackBoundsTest, MainThread) { ExpectOwnStack(); }

TEST(StackBoundsTest, Threads) {
  for (int i = 0; i < 4; ++i) {
    std::thread([] {
      ExpectOwnStack();
      const StackBounds bounds = CurrentStackBounds();
      EXPECT_GE(bounds.begin, Expected().begin);
      EXPECT_GE(bounds.end + (1u << 16),
                Expected().end);  // the control block and thread-local storage are on top
    }).join();
  }
}

TEST(StackBoundsTest, DeeperPartsAreAddedDownToTheGuardPage) {
  std::thread([] {
    StackBounds bounds = CurrentStackBounds();
    const uintptr_t first = bounds.begin;
    ExtendStackBounds(first - 100'000, &bounds);
    EXPECT_LE(bounds.begin, first - 100'000);
    EXPECT_GT(bounds.begin, first - 110'000);
    const uintptr_t second = bounds.begin;
    ExtendStackBounds(second - kMaxProbedBytes - 1, &bounds);  // too far at once
    EXPECT_EQ(bounds.begin, second);
    const uintptr_t lowest = Expected().begin;
    while (bounds.begin > lowest) {
      const uintptr_t before = bounds.begin;
      ExtendStackBounds(before - kMaxProbedBytes / 2, &bounds);
      if (bounds.begin == before) break;
    }
    EXPECT_GE(bounds.floor, lowest - 4096);  // the guard page, or the end of the mapping
    const uintptr_t last = bounds.begin;
    ExtendStackBounds(bounds.floor - 1, &bounds);
    EXPECT_EQ(bounds.begin, last);
  }).join();
}

TEST(StackBoundsTest, ThreadOnAStackOfItsOwn) {
  constexpr size_t kBytes = 1 << 20;
  void* stack = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(stack, MAP_FAILED);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stack, kBytes), 0);
  pthread_t thread;
  auto run = [](void*) -> void* {
    ExpectOwnStack();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, nullptr), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  munmap(stack, kBytes);
}

}  // namespace
}  // namespace plateau::unwind

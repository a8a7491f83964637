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
      EXPECT_LE(bounds.begin, Expected().begin);
      EXPECT_GE(bounds.end + (1u << 16),
                Expected().end);  // the control block and thread-local storage are on top
    }).join();
  }
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

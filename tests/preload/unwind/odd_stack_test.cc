// Stacks that must end early, and never in a crash.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "preload/base/raw_memory.h"
#include "preload/unwind/capture.h"
#include "preload/unwind/loaded_object.h"
#include "tests/preload/unwind/odd_frames.h"
#include "tests/preload/unwind/recording_sink.h"

namespace plateau::unwind {
namespace {

RecordingSink& Recording() {
  static auto* recording = new RecordingSink;
  return *recording;
}

// What the callbacks of odd_frames.S do: capture from their caller.
struct Captured {
  ThreadCapture capture;
  uint32_t stack = 0;
  std::vector<uintptr_t> addresses;
  StackEnd end = StackEnd::kOutermost;
  std::function<void()> next;  // called first, to nest

  Captured() {
    EXPECT_TRUE(InitializeCapture());
    capture.Initialize();
  }
  [[gnu::noinline]] static void Capture(void* argument) {
    auto* self = static_cast<Captured*>(argument);
    const Registers registers = CallerRegisters();
    self->stack = CaptureStack(self->capture, registers, Recording().sink());
    self->addresses = Recording().Resolve(self->stack);
    self->end = self->capture.walker().end();
  }
};

TEST(OddStackTest, CodeWithoutUnwindInformationEndsTheStackWithAMark) {
  auto captured = std::make_unique<Captured>();
  for (int i = 0; i < 3; ++i) {
    CallWithoutCfi(Captured::Capture, captured.get());
    EXPECT_EQ(captured->end, StackEnd::kNoCfi);
    ASSERT_EQ(captured->addresses.size(), 2u);
    EXPECT_EQ(captured->addresses[1], static_cast<uintptr_t>(StackEnd::kNoCfi));
  }
  EXPECT_EQ(captured->capture.walker().counters().ends[static_cast<size_t>(StackEnd::kNoCfi)], 3u);
}

TEST(OddStackTest, FrameThatHangsOnAnotherRegisterIsFollowed) {
  auto captured = std::make_unique<Captured>();
  for (int i = 0; i < 3; ++i) {
    CallWithOddFrame(Captured::Capture, captured.get());
    EXPECT_EQ(captured->end, StackEnd::kOutermost);
    EXPECT_GT(captured->addresses.size(), 6u);
  }
  EXPECT_EQ(captured->capture.walker().counters().slow_steps, 3u);
}

// A stack with an unreadable page on either side.
class GuardedStack {
 public:
  explicit GuardedStack(size_t pages = 16) : bytes_((pages + 2) * kPageBytes) {
    memory_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + kPageBytes, bytes_ - 2 * kPageBytes, PROT_READ | PROT_WRITE);
  }
  ~GuardedStack() { munmap(memory_, bytes_); }
  void* top() const { return memory_ + bytes_ - kPageBytes; }

 private:
  size_t bytes_;
  char* memory_;
};

TEST(OddStackTest, CoroutineStackBelowAGuardPageIsWalkedToItsRoot) {
  auto captured = std::make_unique<Captured>();
  GuardedStack stack;
  for (int i = 0; i < 3; ++i) {
    CallOnStack(Captured::Capture, captured.get(), stack.top());
    EXPECT_EQ(captured->end, StackEnd::kOutermost);
    EXPECT_EQ(captured->addresses.size(), 1u);
  }
}

TEST(OddStackTest, WrongUnwindInformationDoesNotReadTheGuardPage) {
  auto captured = std::make_unique<Captured>();
  GuardedStack stack;
  for (int i = 0; i < 3; ++i) {
    CallOnStackWithWrongCfi(Captured::Capture, captured.get(), stack.top());
    EXPECT_EQ(captured->end, StackEnd::kOutOfStack);
    ASSERT_EQ(captured->addresses.size(), 2u);
    EXPECT_EQ(captured->addresses[1], static_cast<uintptr_t>(StackEnd::kOutOfStack));
  }
}

[[gnu::noinline]] void RecurseOnStack(Captured* captured, int depth) {
  volatile char frame[600] = {};
  if (depth == 0) {
    Captured::Capture(captured);
  } else {
    RecurseOnStack(captured, depth - 1);
  }
  frame[1] = frame[0];
}

TEST(OddStackTest, ForeignStackOfManyPagesIsWalkedAlsoAfterItWasMappedAgain) {
  struct Deep {
    Captured captured;
    int depth;
    static void Run(void* argument) {
      auto* deep = static_cast<Deep*>(argument);
      RecurseOnStack(&deep->captured, deep->depth);
    }
  };
  auto deep = std::make_unique<Deep>();
  for (int depth : {60, 61, 60, 10, 60}) {
    GuardedStack stack(32);
    deep->depth = depth;
    CallOnStack(Deep::Run, deep.get(), stack.top());
    EXPECT_EQ(deep->captured.end, StackEnd::kOutermost);
    // Each level, Run, and the root.
    EXPECT_EQ(deep->captured.addresses.size(), static_cast<size_t>(depth) + 3);
  }
}

TEST(OddStackTest, GarbageRegistersGiveAShortStack) {
  auto captured = std::make_unique<Captured>();
  const uintptr_t code = reinterpret_cast<uintptr_t>(&RecurseOnStack) + 40;
  uintptr_t word = 0;
  const auto here = reinterpret_cast<uintptr_t>(&word) & ~uintptr_t{15};
  const Registers cases[] = {
      {code, here, 0},    {code, 0x1000, 0x1000},      {code, ~uintptr_t{7}, ~uintptr_t{7}},
      {8192, here, here}, {~uintptr_t{0}, here, here}, {code, here + 3, here + 1},
      {0, 0, 0},
  };
  for (const Registers& registers : cases) {
    const uint32_t stack = CaptureStack(captured->capture, registers, Recording().sink());
    EXPECT_LT(Recording().Resolve(stack).size(), 600u);
  }
}

TEST(OddStackTest, GeneratedCodeIsNamedByItsAddress) {
#if defined(__aarch64__)
  // stp x29, x30, [sp, #-16]!; mov x2, x0; mov x0, x1; blr x2; ldp x29, x30, [sp], #16; ret
  static constexpr uint32_t kCode[] = {0xa9bf7bfd, 0xaa0003e2, 0xaa0103e0,
                                       0xd63f0040, 0xa8c17bfd, 0xd65f03c0};
  constexpr size_t kReturn = 16;
#else
  // call *%rax with nothing around it: push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax;
  // pop %rbp; ret
  static constexpr uint8_t kCode[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
                                      0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
  constexpr size_t kReturn = 12;
#endif
  void* code = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(code, kCode, sizeof(kCode));
  ASSERT_EQ(mprotect(code, kPageBytes, PROT_READ | PROT_EXEC), 0);
  __builtin___clear_cache(static_cast<char*>(code), static_cast<char*>(code) + sizeof(kCode));
  auto captured = std::make_unique<Captured>();
  for (int i = 0; i < 2; ++i) {
    reinterpret_cast<void (*)(void (*)(void*), void*)>(code)(Captured::Capture, captured.get());
    EXPECT_EQ(captured->end, StackEnd::kNoObject);
    ASSERT_EQ(captured->addresses.size(), 2u);
    EXPECT_EQ(captured->addresses[0], reinterpret_cast<uintptr_t>(code) + kReturn);
  }
  munmap(code, kPageBytes);
}

// 200,000 call sites: more than the first segment of the rule table has room for.
TEST(OddStackTest, ManyCallSitesGrowTheTable) {
  constexpr size_t kSites = 200'000;
  // Each site is 16 bytes and has no CFI, so only its address matters.
#if defined(__aarch64__)
  // stp x29, x30, [sp, #-16]!; blr x1; ldp x29, x30, [sp], #16; ret
  static constexpr uint32_t kSite[4] = {0xa9bf7bfd, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0};
  constexpr size_t kReturn = 8;
#else
  // sub $8,%rsp; call *%rsi; add $8,%rsp; ret
  static constexpr uint8_t kSite[16] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd6, 0x48, 0x83,
                                        0xc4, 0x08, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};
  constexpr size_t kReturn = 6;
#endif
  auto* code = static_cast<uint8_t*>(
      mmap(nullptr, kSites * 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (size_t i = 0; i < kSites; ++i) std::memcpy(code + i * 16, kSite, 16);
  ASSERT_EQ(mprotect(code, kSites * 16, PROT_READ | PROT_EXEC), 0);
  __builtin___clear_cache(reinterpret_cast<char*>(code), reinterpret_cast<char*>(code) + kSites * 16);
  auto captured = std::make_unique<Captured>();
  const uint64_t full_before = GetCaptureStatistics().rule_table_full;
  std::vector<uint32_t> stacks(kSites);
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < kSites; ++i) {
      using Site = void (*)(void*, void (*)(void*));
      reinterpret_cast<Site>(code + i * 16)(captured.get(), Captured::Capture);
      ASSERT_EQ(captured->addresses.size(), 2u);
      ASSERT_EQ(captured->addresses[0], reinterpret_cast<uintptr_t>(code) + i * 16 + kReturn);
      if (round == 0) stacks[i] = captured->stack;
    }
  }
  EXPECT_EQ(GetCaptureStatistics().rule_table_full, full_before);
  EXPECT_GE(GetCaptureStatistics().rules, kSites);
  munmap(code, kSites * 16);
}

TEST(OddStackTest, SnapshotOfObjectsGivesTheSameStacks) {
  auto captured = std::make_unique<Captured>();
  auto capture = [&] { return CallWithOddFrame(Captured::Capture, captured.get()); };
  std::vector<uintptr_t> by_loader, by_snapshot;
  for (int i = 0; i < 2; ++i) {
    UseSnapshotsForTest(i == 1);
    ResetCaptureAfterFork();
    capture();
    (i == 0 ? by_loader : by_snapshot) =
        captured->capture.walker().depth() > 6 ? captured->addresses : std::vector<uintptr_t>{};
  }
  UseSnapshotsForTest(false);
  EXPECT_GT(by_loader.size(), 6u);
  EXPECT_EQ(by_loader, by_snapshot);
}

}  // namespace
}  // namespace plateau::unwind

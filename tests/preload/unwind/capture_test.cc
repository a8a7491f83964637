#include "preload/unwind/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "tests/preload/unwind/recording_sink.h"
#include "tests/preload/unwind/reference_stack.h"

namespace plateau::unwind {
namespace {

using testing::EndsWith;

// Ids are per process, so one recording serves all tests of this binary.
RecordingSink& Recording() {
  static auto* recording = new RecordingSink;
  return *recording;
}

class CaptureTest : public testing::Test {
 protected:
  CaptureTest() {
    EXPECT_TRUE(InitializeCapture());
    capture_->Initialize();
  }

  std::unique_ptr<ThreadCapture> capture_ = std::make_unique<ThreadCapture>();
  DefinitionSink sink_ = Recording().sink();
};

struct Compared {
  uint32_t stack = 0;
  std::vector<uintptr_t> ours;
  std::vector<uintptr_t> reference;
};

// Captures from the caller of this function, both ways.
[[gnu::noinline]] Compared CaptureBoth(ThreadCapture& capture, const DefinitionSink& sink) {
  const Registers registers = CallerRegisters();
  Compared result;
  result.stack = CaptureStack(capture, registers, sink);
  auto reference = std::make_unique<ReferenceStack>();
  ReadReferenceStack(registers, reference.get());
  for (unsigned i = 0; i < reference->depth; ++i) {
    result.reference.push_back(reference->frames[i].pc + (reference->frames[i].is_exact ? 1 : 0));
  }
  result.ours = Recording().Resolve(result.stack);
  return result;
}

[[gnu::noinline]] Compared Recurse(ThreadCapture& capture, const DefinitionSink& sink, int depth) {
  volatile char frame[48] = {};
  Compared result = depth == 0 ? CaptureBoth(capture, sink) : Recurse(capture, sink, depth - 1);
  frame[0] = frame[1];
  return result;
}

TEST_F(CaptureTest, StackEqualsLibunwind) {
  const Compared result = CaptureBoth(*capture_, sink_);
  EXPECT_NE(result.stack, kNoStack);
  EXPECT_GT(result.ours.size(), 5u);
  EXPECT_EQ(result.ours, result.reference);
}

TEST_F(CaptureTest, DeepStackEqualsLibunwind) {
  const Compared result = Recurse(*capture_, sink_, 300);
  EXPECT_GT(result.ours.size(), 300u);
  EXPECT_EQ(result.ours, result.reference);
}

TEST_F(CaptureTest, SameStackHasTheSameIdAndDefinesNothing) {
  std::vector<uint32_t> stacks(3);
  // Known to the compiler, it would lead to several loops, each with a call of its own.
  volatile uint64_t nodes_after_first = 0;
  for (uint32_t& stack : stacks) {
    stack = Recurse(*capture_, sink_, 10).stack;
    if (nodes_after_first == 0) nodes_after_first = Recording().node_count();
  }
  EXPECT_EQ(stacks[0], stacks[1]);
  EXPECT_EQ(stacks[0], stacks[2]);
  EXPECT_EQ(Recording().node_count(), nodes_after_first);
}

// Calls the one function or the other, which look alike.
[[gnu::noinline]] Compared CaptureByOne(ThreadCapture& capture, const DefinitionSink& sink) {
  Compared result = CaptureBoth(capture, sink);
  asm volatile("# one" : : : "memory");
  return result;
}
[[gnu::noinline]] Compared CaptureByAnother(ThreadCapture& capture, const DefinitionSink& sink) {
  Compared result = CaptureBoth(capture, sink);
  asm volatile("# another" : : : "memory");
  return result;
}
[[gnu::noinline]] Compared CaptureInTurn(ThreadCapture& capture, const DefinitionSink& sink, int turn) {
  Compared result = turn % 2 == 0 ? CaptureByOne(capture, sink) : CaptureByAnother(capture, sink);
  asm volatile("" : : : "memory");
  return result;
}

TEST_F(CaptureTest, StacksInTurnAreKnownAfterTheFirstOfEach) {
  uint32_t stacks[8];
  for (int turn = 0; turn < 8; ++turn) {
    const Compared result = CaptureInTurn(*capture_, sink_, turn);
    EXPECT_EQ(result.ours, result.reference) << turn;
    stacks[turn] = result.stack;
  }
  EXPECT_NE(stacks[0], stacks[1]);
  for (int turn = 2; turn < 8; ++turn) EXPECT_EQ(stacks[turn], stacks[turn - 2]) << turn;
  // The first walk is new altogether, so the first leaf is learned when it comes again.
  EXPECT_EQ(capture_->walker().counters().known, 5u);
}

TEST_F(CaptureTest, KnownStackUnderAnotherCallerIsAnotherStack) {
  std::vector<Compared> results;
  for (const bool elsewhere : {false, false, false, true, false}) {
    if (elsewhere) {
      results.push_back(CaptureInTurn(*capture_, sink_, 0));
      asm volatile("# elsewhere" : : : "memory");
    } else {
      results.push_back(CaptureInTurn(*capture_, sink_, 0));
      asm volatile("# here" : : : "memory");
    }
    EXPECT_EQ(results.back().ours, results.back().reference);
  }
  EXPECT_EQ(capture_->walker().counters().known, 1u);
  EXPECT_EQ(results[2].stack, results[0].stack);
  EXPECT_NE(results[3].stack, results[0].stack);
  EXPECT_EQ(results[4].stack, results[0].stack);
}

// The leaf has the same rsp for every `padding`, its rbp tells them apart, and the words of the first stack
// are still there under the padding of the second.
[[gnu::noinline]] Compared CaptureUnderRoom(ThreadCapture& capture, const DefinitionSink& sink,
                                            size_t bytes) {
  void* room = __builtin_alloca(bytes);
  asm volatile("" : : "r"(room) : "memory");
  return CaptureBoth(capture, sink);
}
[[gnu::noinline]] Compared CaptureWithPadding(ThreadCapture& capture, const DefinitionSink& sink,
                                              size_t padding) {
  constexpr size_t kRoom = 2048;
  void* room = __builtin_alloca(padding);
  asm volatile("" : : "r"(room) : "memory");
  if (padding == 16) return CaptureUnderRoom(capture, sink, kRoom - padding);
  Compared result = CaptureUnderRoom(capture, sink, kRoom - padding);
  asm volatile("" : : : "memory");
  return result;
}

TEST_F(CaptureTest, SameLeafWithAnotherFramePointerIsAnotherStack) {
  std::vector<Compared> results;
  for (size_t padding : {16, 16, 16, 1024, 16, 1024, 1024}) {
    results.push_back(CaptureWithPadding(*capture_, sink_, padding));
    EXPECT_EQ(results.back().ours, results.back().reference) << padding;
  }
  EXPECT_EQ(results[0].stack, results[2].stack);
  EXPECT_NE(results[2].stack, results[3].stack);
  EXPECT_EQ(results[2].stack, results[4].stack);
  EXPECT_GT(capture_->walker().counters().known, 0u);
}

TEST_F(CaptureTest, DepthCapKeepsTheLeafSideUnderAMark) {
  for (int depth : {520, 700, 699, 701, 600}) {
    const Compared result = Recurse(*capture_, sink_, depth);
    ASSERT_EQ(result.ours.size(), StackWalker::kMaxDepth + 1);
    EXPECT_EQ(result.ours.back(), static_cast<uintptr_t>(StackEnd::kDepthCap));
    for (size_t i = 0; i < StackWalker::kMaxDepth; ++i) ASSERT_EQ(result.ours[i], result.reference[i]) << i;
  }
  EXPECT_EQ(capture_->walker().counters().ends[static_cast<size_t>(StackEnd::kDepthCap)], 5u);
}

TEST_F(CaptureTest, ModulesCarryPathAndBuildId) {
  CaptureBoth(*capture_, sink_);
  bool has_program = false;
  bool has_libc = false;
  for (const auto& [id, module] : Recording().modules()) {
    EXPECT_GT(id, 0u);
    if (module.path.find("unwind_capture_test") != std::string::npos) has_program = true;
    if (module.path.find("libc.so") != std::string::npos) {
      has_libc = true;
      EXPECT_EQ(module.build_id.size(), 20u);
    }
  }
  EXPECT_TRUE(has_program);
  EXPECT_TRUE(has_libc);
}

// A frame of which an object is known to lie in.
[[gnu::noinline]] uint32_t CaptureAbove(ThreadCapture& capture, const DefinitionSink& sink, uint32_t parent,
                                        const volatile void* object, int depth) {
  volatile char frame[32] = {};
  const uint32_t result = depth > 0 ? CaptureAbove(capture, sink, parent, object, depth - 1)
                                    : CaptureStackAbove(capture, CallerRegisters(), sink, parent,
                                                        reinterpret_cast<uintptr_t>(object));
  frame[0] = frame[1];
  return result;
}

TEST_F(CaptureTest, StopsAtTheFrameThatHoldsTheAddress) {
  volatile char mine[16] = {};
  const uint32_t location = NewLocationId();
  sink_.Location({location, 0, 0x123456});
  const uint32_t parent = InternChild(*capture_, 0, location, sink_);
  ASSERT_NE(parent, 0u);
  EXPECT_EQ(InternChild(*capture_, 0, location, sink_), parent);
  for (int depth : {1, 5, 3, 3, 20, 2}) {
    const uint32_t stack = CaptureAbove(*capture_, sink_, parent, mine, depth);
    const std::vector<uintptr_t> addresses = Recording().Resolve(stack);
    // `depth` frames of CaptureAbove without the innermost, this function, and the parent.
    ASSERT_EQ(addresses.size(), static_cast<size_t>(depth) + 2) << depth;
    EXPECT_EQ(addresses.back(), 0x123456u);
    EXPECT_EQ(capture_->walker().end(), StackEnd::kStopAddress);
    const auto here = reinterpret_cast<uintptr_t>(mine);
    EXPECT_GE(here, capture_->walker().frames()[0].rsp);
    EXPECT_LT(here, capture_->walker().Cfa(0));
  }
  // An address that is nowhere: the whole stack.
  const uint32_t whole = CaptureAbove(*capture_, sink_, 0, this + 1, 3);
  EXPECT_EQ(capture_->walker().end(), StackEnd::kOutermost);
  EXPECT_GT(Recording().Resolve(whole).size(), 6u);
  // And back, under another parent.
  const uint32_t other = InternChild(*capture_, parent, location, sink_);
  EXPECT_EQ(Recording().Resolve(CaptureAbove(*capture_, sink_, other, mine, 3)).size(), 6u);
  EXPECT_EQ(Recording().Resolve(CaptureAbove(*capture_, sink_, parent, mine, 3)).size(), 5u);
}

TEST_F(CaptureTest, BranchIsKnownUnderItsParentUntilItIsForgotten) {
  volatile char mine[16] = {};
  uint32_t parents[2];
  for (uint32_t& parent : parents) {
    const uint32_t location = NewLocationId();
    sink_.Location({location, 0, 0x777000 + location});
    parent = InternChild(*capture_, 0, location, sink_);
  }
  uint32_t stacks[6];
  for (int i = 0; i < 6; ++i) stacks[i] = CaptureAbove(*capture_, sink_, parents[i % 2], mine, 3);
  EXPECT_NE(stacks[0], stacks[1]);
  for (int i = 2; i < 6; ++i) EXPECT_EQ(stacks[i], stacks[i - 2]) << i;
  EXPECT_EQ(capture_->walker().counters().known, 4u);
  EXPECT_EQ(capture_->walker().counters().walks, 2u);
  // Another object of the same frame is another question, and a thread that begins again knows nothing.
  CaptureAbove(*capture_, sink_, parents[0], mine + 1, 3);
  EXPECT_EQ(capture_->walker().counters().walks, 3u);
  capture_->Initialize();
  CaptureAbove(*capture_, sink_, parents[0], mine, 3);
  EXPECT_EQ(capture_->walker().counters().walks, 4u);
}

// As with CaptureWithPadding(): the same leaf, and its caller is elsewhere for every `padding`.
[[gnu::noinline]] uint32_t CaptureAboveUnderRoom(ThreadCapture& capture, const DefinitionSink& sink,
                                                 uint32_t parent, const volatile void* object, size_t bytes) {
  void* room = __builtin_alloca(bytes);
  asm volatile("" : : "r"(room) : "memory");
  const uint32_t result = CaptureAbove(capture, sink, parent, object, 0);
  asm volatile("" : : "r"(room) : "memory");
  return result;
}
[[gnu::noinline]] uint32_t CaptureAboveHere(ThreadCapture& capture, const DefinitionSink& sink,
                                            uint32_t parent, const volatile void* object, size_t padding) {
  constexpr size_t kRoom = 2048;
  void* room = __builtin_alloca(padding);
  asm volatile("" : : "r"(room) : "memory");
  uint32_t result;
  if (padding == 16) {
    result = CaptureAboveUnderRoom(capture, sink, parent, object, kRoom - padding);
    asm volatile("# near" : : : "memory");
  } else {
    result = CaptureAboveUnderRoom(capture, sink, parent, object, kRoom - padding);
    asm volatile("# far" : : : "memory");
  }
  return result;
}

TEST_F(CaptureTest, BranchWithAnotherFramePointerIsAnotherBranch) {
  volatile char mine[16] = {};
  const uint32_t location = NewLocationId();
  sink_.Location({location, 0, 0x999000});
  const uint32_t parent = InternChild(*capture_, 0, location, sink_);
  // Nothing else is called in between: what it leaves on the stack would tell them apart.
  uint32_t stacks[6];
  int count = 0;
  for (size_t padding : {16, 16, 1024, 16, 1024, 1024}) {
    stacks[count++] = CaptureAboveHere(*capture_, sink_, parent, mine, padding);
  }
  for (uint32_t stack : stacks) EXPECT_EQ(Recording().Resolve(stack).size(), 4u);
  EXPECT_EQ(stacks[0], stacks[1]);
  EXPECT_NE(stacks[0], stacks[2]);
  EXPECT_EQ(stacks[0], stacks[3]);
  EXPECT_EQ(stacks[2], stacks[4]);
  EXPECT_GE(capture_->walker().counters().known, 3u);
}

TEST_F(CaptureTest, ErrnoIsKept) {
  errno = 4242;
  CaptureStack(*capture_, CallerRegisters(), sink_);
  capture_->Initialize();
  EXPECT_EQ(errno, 4242);
}

TEST_F(CaptureTest, ChildOfAForkDefinesEverythingAgain) {
  CaptureBoth(*capture_, sink_);
  const pid_t child = fork();
  if (child == 0) {
    ResetCaptureAfterFork();
    auto fresh = std::make_unique<RecordingSink>(1 << 16, 1 << 16);
    const uint32_t stack = CaptureStack(*capture_, CallerRegisters(), fresh->sink());
    const std::vector<uintptr_t> addresses = fresh->Resolve(stack);
    _exit(addresses.size() > 5 && addresses[0] != 0 && !fresh->modules().empty() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(CaptureTest, WithoutAnUnloadTheGenerationStays) {
  const uint64_t before = GetCaptureStatistics().generation;
  BumpGeneration(sink_);
  EXPECT_EQ(GetCaptureStatistics().generation, before);
}

}  // namespace
}  // namespace plateau::unwind

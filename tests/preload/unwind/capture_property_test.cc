// Every capture of random programs, compared frame by frame with libunwind.
//
// The default run makes about 2 * 10^5 captures per suite; PLATEAU_UNWIND_CAPTURES=1000000 (or more) is the
// full one.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "preload/unwind/capture.h"
#include "tests/preload/unwind/call_tree.h"
#include "tests/preload/unwind/recording_sink.h"
#include "tests/preload/unwind/reference_stack.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define PLATEAU_SANITIZED 1
#else
#define PLATEAU_SANITIZED 0
#endif

namespace plateau::unwind {
namespace {

uint64_t WantedCaptures() {
  const char* wanted = std::getenv("PLATEAU_UNWIND_CAPTURES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : (PLATEAU_SANITIZED ? 20000 : 200000);
}

RecordingSink& Recording() {
  static auto* recording = new RecordingSink(size_t{1} << 24);
  return *recording;
}

// One thread's captures and how they compared.
class Comparison {
 public:
  Comparison() { capture_.Initialize(); }

  // Captures from the caller, by both, unless this thread is already doing so.
  [[gnu::noinline]] void Check() {
    if (busy_) return;
    busy_ = true;
    Compare(CallerRegisters());
    busy_ = false;
  }

  // The same for the part above the frame that holds `stop_address`, under `parent`.
  [[gnu::noinline]] void CheckAbove(uint32_t parent, uintptr_t stop_address) {
    if (busy_) return;
    busy_ = true;
    CompareAbove(CallerRegisters(), parent, stop_address);
    busy_ = false;
  }

  uint64_t captures = 0;
  uint64_t frames = 0;
  uint64_t wrong = 0;            // a frame that differs
  uint64_t missing = 0;          // fewer frames than libunwind, not marked as truncated
  uint64_t truncated = 0;        // marked as truncated
  uint64_t reference_short = 0;  // libunwind gave up before we did
  const ThreadCapture& capture() const { return capture_; }

 private:
  [[gnu::noinline]] void Compare(const Registers& registers) {
    const uint64_t known_before = capture_.walker().counters().known;
    const uint32_t stack = CaptureStack(capture_, registers, Recording().sink());
    has_frames_ = capture_.walker().counters().known == known_before;
    ReadReferenceStack(registers, &reference_);
    ++captures;
    frames += reference_.depth;
    Recording().Resolve(stack, &resolved_);
    const StackEnd end = capture_.walker().end();
    if (IsTruncation(end)) {
      if (truncated++ == 0) Explain();
      if (resolved_.empty() || resolved_.back() != static_cast<uintptr_t>(end)) ++wrong;
      if (!resolved_.empty()) resolved_.pop_back();
    }
    const size_t shared = std::min<size_t>(resolved_.size(), reference_.depth);
    for (size_t i = 0; i < shared; ++i) {
      const ReferenceFrame& theirs = reference_.frames[i];
      if (resolved_[i] == theirs.pc + (theirs.is_exact ? 1 : 0) && RspOf(i, theirs.rsp) == theirs.rsp)
        continue;
      if (wrong++ == 0) Explain();
      return;
    }
    if (resolved_.size() < reference_.depth && !IsTruncation(end) && missing++ == 0) Explain();
    if (resolved_.size() > reference_.depth && reference_short++ == 0) Explain();
  }

  [[gnu::noinline]] void CompareAbove(const Registers& registers, uint32_t parent, uintptr_t stop_address) {
    const uint32_t stack = CaptureStackAbove(capture_, registers, Recording().sink(), parent, stop_address);
    ReadReferenceStack(registers, &reference_);
    ++captures;
    std::vector<uintptr_t> expected;
    for (unsigned i = 0; i < reference_.depth; ++i) {
      const ReferenceFrame& frame = reference_.frames[i];
      expected.push_back(frame.pc + (frame.is_exact ? 1 : 0));
      if (i + 1 < reference_.depth && stop_address >= frame.rsp &&
          stop_address < reference_.frames[i + 1].rsp) {
        break;
      }
    }
    frames += expected.size();
    Recording().Resolve(parent, &resolved_);
    expected.insert(expected.end(), resolved_.begin(), resolved_.end());
    Recording().Resolve(stack, &resolved_);
    if (resolved_ != expected && wrong++ == 0) Explain();
  }

  // Of the frame so far from the leaf; `otherwise` when the stack was known and needed no walk.
  uintptr_t RspOf(size_t i, uintptr_t otherwise) const {
    const StackWalker& walker = capture_.walker();
    return has_frames_ ? walker.frames()[walker.depth() - 1 - i].rsp : otherwise;
  }

  void Explain() {
    std::fprintf(stderr, "end %d, ours %zu frames, libunwind %u (complete %d)\n",
                 static_cast<int>(capture_.walker().end()), resolved_.size(), reference_.depth,
                 reference_.complete);
    for (size_t i = 0; i < std::max<size_t>(resolved_.size(), reference_.depth); ++i) {
      const bool ours = i < resolved_.size();
      const bool theirs = i < reference_.depth;
      std::fprintf(stderr, "%3zu %16lx %16lx   %16lx %16lx %s\n", i, ours ? resolved_[i] : 0,
                   ours ? RspOf(i, 0) : 0, theirs ? reference_.frames[i].pc : 0,
                   theirs ? reference_.frames[i].rsp : 0,
                   theirs && reference_.frames[i].is_exact ? "exact" : "");
    }
  }

  bool busy_ = false;
  bool has_frames_ = false;
  ThreadCapture capture_;
  ReferenceStack reference_;
  std::vector<uintptr_t> resolved_;
};

struct Totals {
  std::atomic<uint64_t> captures{0}, frames{0}, wrong{0}, missing{0}, truncated{0}, reference_short{0};
  std::atomic<uint64_t> throws{0}, jumps{0}, coroutines{0}, signals{0}, plugin_calls{0}, reloads{0};
  std::atomic<uint64_t> slow_steps{0}, stepped{0}, known{0};

  void Add(const Comparison& comparison, const CallTree::Counts& counts) {
    captures += comparison.captures;
    frames += comparison.frames;
    wrong += comparison.wrong;
    missing += comparison.missing;
    truncated += comparison.truncated;
    reference_short += comparison.reference_short;
    throws += counts.throws;
    jumps += counts.jumps;
    coroutines += counts.coroutines;
    signals += counts.signals;
    plugin_calls += counts.plugin_calls;
    reloads += counts.reloads;
    slow_steps += comparison.capture().walker().counters().slow_steps;
    stepped += comparison.capture().walker().counters().stepped_frames;
    known += comparison.capture().walker().counters().known;
  }

  void Print(const char* name) const {
    std::printf(
        "%s: %lu captures (%lu known), %lu frames (%lu stepped, %lu slow steps), %lu wrong, %lu missing, %lu "
        "truncated, "
        "%lu past libunwind's end; %lu throws, %lu jumps, %lu coroutines, %lu signals, %lu plug-in calls, "
        "%lu reloads\n",
        name, captures.load(), known.load(), frames.load(), stepped.load(), slow_steps.load(), wrong.load(),
        missing.load(), truncated.load(), reference_short.load(), throws.load(), jumps.load(),
        coroutines.load(), signals.load(), plugin_calls.load(), reloads.load());
  }
};

CallTree::Options SupportedOptions() {
  CallTree::Options options;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  options.coroutines = false;  // sanitizers track one stack per thread
#endif
#if defined(__SANITIZE_THREAD__)
  options.signals = false;  // it objects to what the test itself does in handlers
#endif
  return options;
}

// Frames of the same shape, of which one returns before the next is called.
template <int kWhich>
[[gnu::noinline]] void Leaf(Comparison* comparison) {
  comparison->Check();
  asm volatile("" : : "i"(kWhich) : "memory");
}
template <int kWhich>
[[gnu::noinline]] void Branch(Comparison* comparison, bool second) {
  if (second) {
    Leaf<1>(comparison);
  } else {
    Leaf<0>(comparison);
  }
  asm volatile("" : : "i"(kWhich) : "memory");
}

// Captures from a few places in turn, as a loop of a program does.
void CheckInTurn(Comparison* comparison, uint64_t random) {
  for (int i = 0; i < 12; ++i, random /= 8) {
    const bool second = random % 2 != 0;
    switch (random / 2 % 4) {
      case 0:
        Leaf<0>(comparison);
        break;
      case 1:
        Leaf<1>(comparison);
        break;
      case 2:
        Branch<0>(comparison, second);
        break;
      default:
        Branch<1>(comparison, second);
        break;
    }
  }
}

void RunTrees(uint64_t seed, uint64_t wanted, Totals* totals) {
  auto comparison = std::make_unique<Comparison>();
  CallTree::Plugins plugins;
  plugins.paths[0] = PLATEAU_PLUGIN_SMALL;
  plugins.paths[1] = PLATEAU_PLUGIN_LARGE;
  plugins.after_unload = [] {
    BumpGeneration(Recording().sink());
    unw_flush_cache(unw_local_addr_space, 0, 0);
  };
  CallTree tree(seed, SupportedOptions(), plugins, [&] { comparison->Check(); });
  while (comparison->captures < wanted) tree.Run();
  totals->Add(*comparison, tree.counts());
}

void ExpectExact(const Totals& totals) {
  EXPECT_EQ(totals.wrong, 0u);
  EXPECT_EQ(totals.missing, 0u);
  EXPECT_EQ(totals.reference_short, 0u);
  EXPECT_EQ(Recording().redefinitions(), 0u);
  EXPECT_EQ(Recording().overflows(), 0u);
}

TEST(CapturePropertyTest, OneThreadHasNoWrongFrame) {
  ASSERT_TRUE(InitializeCapture());
  Totals totals;
  RunTrees(1, WantedCaptures() / 2, &totals);
  totals.Print("one thread");
  ExpectExact(totals);
  EXPECT_EQ(totals.truncated, 0u);
  EXPECT_GT(totals.throws, 10u);
  EXPECT_GT(totals.jumps, 10u);
  if (SupportedOptions().signals) {
    EXPECT_GT(totals.signals, 10u);
  }
  EXPECT_GT(totals.reloads, 10u);
  EXPECT_GT(totals.slow_steps, 10u);
  EXPECT_LT(totals.stepped, totals.frames / 4);  // the last stack is of use
  EXPECT_GT(totals.known, 10u);
}

TEST(CapturePropertyTest, EightThreadsHaveNoWrongFrame) {
  ASSERT_TRUE(InitializeCapture());
  Totals totals;
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 8; ++i) {
    threads.emplace_back([&totals, i] { RunTrees(100 + i, WantedCaptures() / 16, &totals); });
  }
  for (std::thread& thread : threads) thread.join();
  totals.Print("eight threads");
  ExpectExact(totals);
  EXPECT_EQ(totals.truncated, 0u);
}

// Stacks that have been walked before are proven from memory, without a walk; on foreign stacks never.
TEST(CapturePropertyTest, KnownStacksHaveNoWrongFrame) {
  ASSERT_TRUE(InitializeCapture());
  Totals totals;
  auto comparison = std::make_unique<Comparison>();
  CallTree::Options options = SupportedOptions();
  options.coroutines = options.signals = false;
  CallTree::Plugins plugins;
  plugins.paths[0] = PLATEAU_PLUGIN_SMALL;
  plugins.paths[1] = PLATEAU_PLUGIN_LARGE;
  plugins.after_unload = [] {
    BumpGeneration(Recording().sink());
    unw_flush_cache(unw_local_addr_space, 0, 0);
  };
  uint64_t random = 1;
  CallTree tree(3, options, plugins, [&] {
    random = random * 6364136223846793005u + 1442695040888963407u;
    CheckInTurn(comparison.get(), random >> 20);
  });
  while (comparison->captures < WantedCaptures() / 2) tree.Run();
  totals.Add(*comparison, tree.counts());
  totals.Print("known stacks");
  ExpectExact(totals);
  EXPECT_EQ(totals.truncated, 0u);
  EXPECT_GT(totals.known, totals.captures / 16);
  EXPECT_GT(totals.throws, 0u);
  EXPECT_GT(totals.jumps, 0u);
}

// Captures above an object from one place, through callers that differ in nothing but where they are: every
// branch of so many frames has the same leaf.
struct Above {
  Comparison* comparison;
  uint32_t parent;
  uintptr_t stop_address;
};
[[gnu::noinline]] void LeafAbove(const Above& above) {
  above.comparison->CheckAbove(above.parent, above.stop_address);
  asm volatile("" : : : "memory");
}
template <int kWhich>
[[gnu::noinline]] void BranchAbove(const Above& above, uint64_t random, int frames) {
  if (frames == 0) {
    LeafAbove(above);
  } else if (random % 2 != 0) {
    BranchAbove<1>(above, random / 2, frames - 1);
  } else {
    BranchAbove<0>(above, random / 2, frames - 1);
  }
  asm volatile("" : : "i"(kWhich) : "memory");
}

// The same branches under several parents, above an object of a frame near by or of one far away.
TEST(CapturePropertyTest, KnownBranchesHaveNoWrongFrame) {
  ASSERT_TRUE(InitializeCapture());
  Totals totals;
  auto comparison = std::make_unique<Comparison>();
  auto parents_capture = std::make_unique<ThreadCapture>();
  parents_capture->Initialize();
  const DefinitionSink sink = Recording().sink();
  uint32_t parents[3] = {};
  for (uint32_t& parent : parents) {
    const uint32_t location = NewLocationId();
    sink.Location({location, 0, 0x1000 + location});
    parent = InternChild(*parents_capture, &parent == parents ? 0 : parents[0], location, sink);
  }
  CallTree::Plugins plugins;
  plugins.paths[0] = PLATEAU_PLUGIN_SMALL;
  plugins.paths[1] = PLATEAU_PLUGIN_LARGE;
  plugins.after_unload = [] {
    BumpGeneration(Recording().sink());
    unw_flush_cache(unw_local_addr_space, 0, 0);
  };
  volatile char far[16] = {};
  uint64_t random = 1;
  CallTree tree(5, SupportedOptions(), plugins, [&] {
    volatile char near[16] = {};
    for (int i = 0; i < 48; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const uint64_t which = random >> 40;
      const auto stop_address = reinterpret_cast<uintptr_t>(which % 4 != 0 ? near : far);
      BranchAbove<0>({comparison.get(), parents[which / 4 % 3], stop_address}, which >> 8,
                     which % 32 == 0 ? 50 : 2 + which / 16 % 2);
    }
  });
  while (comparison->captures < WantedCaptures() / 2) tree.Run();
  totals.Add(*comparison, tree.counts());
  totals.Print("known branches");
  ExpectExact(totals);
  EXPECT_GT(totals.known, totals.captures / 8);
  EXPECT_LT(totals.known, totals.captures);
  EXPECT_GT(totals.reloads, 0u);
}

Comparison* interrupted = nullptr;

// Signals that arrive at any instruction: prologues, epilogues, PLT entries, the C library. Only they
// capture.
TEST(CapturePropertyTest, SignalsAtAnyInstructionHaveNoWrongFrame) {
  if (!SupportedOptions().signals) GTEST_SKIP() << "no signals under this sanitizer";
  ASSERT_TRUE(InitializeCapture());
  auto comparison = std::make_unique<Comparison>();
  CallTree::Options options = SupportedOptions();
  // What cannot be walked at every instruction: the loader (the judge takes its lock), the exception runtime
  // (writes landing pads over return addresses), code that switches stacks (half its registers are those of
  // the other one), and the last two instructions of a realigned frame with alloca: rbp is the caller's
  // again, and the compiler's tables still say that the caller's is to be found where it points.
  options.plugins = options.exceptions = options.long_jumps = options.coroutines = false;
  options.realigned_variable_frames = false;
  volatile unsigned work = 0;
  CallTree tree(7, options, {}, [&] {
    for (unsigned i = 0; i < 20; ++i) work = work + i;
  });
  interrupted = comparison.get();
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted->Check(); };
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  timer_t timer;
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGPROF;
  ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  const itimerspec every = {{0, 200'000}, {0, 200'000}};
  ASSERT_EQ(timer_settime(timer, 0, &every, nullptr), 0);
  while (comparison->captures < WantedCaptures() / 20) tree.Run();
  timer_delete(timer);
  signal(SIGPROF, SIG_IGN);
  Totals totals;
  totals.Add(*comparison, tree.counts());
  totals.Print("signals at any instruction");
  EXPECT_EQ(totals.wrong, 0u);
  EXPECT_EQ(totals.missing, 0u);
  EXPECT_EQ(totals.truncated, 0u);
}

}  // namespace
}  // namespace plateau::unwind

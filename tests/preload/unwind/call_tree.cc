#include "tests/preload/unwind/call_tree.h"

#include <alloca.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "tests/preload/unwind/odd_frames.h"

namespace plateau::unwind {
namespace {

struct Signalled {
  CallTree* tree = nullptr;
};
thread_local Signalled current;

struct Thrown {
  int value;
};

std::mutex plugin_mutex;

// What a C callback gets: the tree and how far it may go on.
struct Continuation {
  CallTree* tree;
  int budget;
};
void Continue(void* argument) {
  auto* continuation = static_cast<Continuation*>(argument);
  continuation->tree->Act(continuation->budget);
}

// Frames of many sizes and kinds. The volatile accesses after the call keep it from being a tail call.
template <int kBytes>
[[gnu::noinline]] void PlainFrame(CallTree* tree, int budget) {
  volatile char frame[kBytes];
  frame[0] = static_cast<char>(budget);
  tree->Act(budget);
  frame[kBytes - 1] = frame[0];
}

template <int kScale>
[[gnu::noinline]] void VariableFrame(CallTree* tree, int budget) {  // alloca: the CFA hangs on rbp
  auto* frame = static_cast<volatile char*>(alloca(static_cast<size_t>(budget * kScale + 16)));
  frame[0] = 1;
  tree->Act(budget);
  frame[1] = frame[0];
}

template <int kAlign>
[[gnu::noinline]] void AlignedFrame(CallTree* tree, int budget) {  // the stack is realigned
  alignas(kAlign) volatile char frame[kAlign];
  frame[0] = 1;
  tree->Act(budget);
  frame[1] = frame[0];
}

template <int kAlign>
[[gnu::noinline]] void AlignedVariableFrame(CallTree* tree, int budget) {
  alignas(kAlign) volatile char frame[kAlign];
  auto* more = static_cast<volatile char*>(alloca(static_cast<size_t>(budget * 8 + 16)));
  frame[0] = 1;
  more[0] = 1;
  tree->Act(budget);
  frame[1] = frame[0];
  more[1] = frame[0];
}

[[gnu::noinline]] uint64_t ManyArguments(CallTree* tree, int budget, uint64_t a, uint64_t b, uint64_t c,
                                         uint64_t d, uint64_t e, uint64_t f, uint64_t g) {
  tree->Act(budget);
  return a + b * 3 + c * 5 + d * 7 + e * 11 + f * 13 + g * 17;
}
[[gnu::noinline]] void ManyArgumentsFrame(CallTree* tree, int budget) {
  const auto x = static_cast<uint64_t>(budget);
  volatile uint64_t result = ManyArguments(tree, budget, x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6);
  (void)result;
}

using Shape = void (*)(CallTree*, int);
constexpr Shape kShapes[] = {
    // the last is Options::realigned_variable_frames
    PlainFrame<8>,     PlainFrame<24>,     PlainFrame<40>,           PlainFrame<72>,   PlainFrame<136>,
    PlainFrame<264>,   PlainFrame<520>,    PlainFrame<1032>,         PlainFrame<16>,   PlainFrame<56>,
    VariableFrame<1>,  VariableFrame<24>,  VariableFrame<100>,       AlignedFrame<32>, AlignedFrame<64>,
    AlignedFrame<128>, ManyArgumentsFrame, AlignedVariableFrame<64>,
};

void HandleSignal(int) { current.tree->OnSignal(); }

}  // namespace

CallTree::CallTree(uint64_t seed, const Options& options, const Plugins& plugins, std::function<void()> check)
    : random_(seed), options_(options), plugins_(plugins), check_(std::move(check)) {
  current.tree = this;
  constexpr size_t kAlternateBytes = 256 * 1024;
  alternate_stack_ =
      mmap(nullptr, kAlternateBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t alternate = {};
  alternate.ss_sp = alternate_stack_;
  alternate.ss_size = kAlternateBytes;
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = HandleSignal;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGUSR1, &action, nullptr);
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
}

CallTree::~CallTree() {
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(alternate_stack_, 256 * 1024);
  if (plugin_ == nullptr) return;
  std::lock_guard lock(plugin_mutex);
  dlclose(plugin_);
  plugins_.after_unload();
}

void CallTree::Run() { CallShape(12 + static_cast<int>(Random(12))); }

template <typename Function>
void CallTree::WithBarrier(Function function) {
  const Escape escape = std::exchange(escape_, Escape::kNone);
  function();
  escape_ = escape;
}

[[gnu::noinline]] void CallTree::Act(int budget) {
  check_();
  if (budget <= 0) {
    MaybeEscape();
    return;
  }
  const uint64_t calls = 1 + Random(2) * Random(2);
  for (uint64_t i = 0; i < calls; ++i) {
    const int left = std::max(0, budget - 1 - static_cast<int>(Random(2)));
    switch (Random(24)) {
      case 0:
        if (options_.exceptions) TryAndCatch(left);
        break;
      case 1:
        if (options_.long_jumps) SetJump(left);
        break;
      case 2:
        if (options_.coroutines && coroutine_depth_ < 3 && signal_depth_ == 0) RunCoroutine(left);
        break;
      case 3:
        if (options_.signals && signal_depth_ < 2) RaiseSignal(left / 2, SIGUSR1);
        break;
      case 4:
        if (options_.signals && signal_depth_ < 2) RaiseSignal(left / 2, SIGUSR2);
        break;
      case 5:
        SortWithCallback(left);
        break;
      case 6:
        if (options_.plugins && signal_depth_ == 0) CallPlugin(left);
        break;
      case 7:
        CallOddFrame(left);
        break;
      default:
        CallShape(left);
    }
    check_();
  }
  MaybeEscape();
}

void CallTree::MaybeEscape() {
  if (escape_ == Escape::kNone || Random(6) != 0) return;
  if (escape_ == Escape::kThrow) {
    ++counts_.throws;
    throw Thrown{1};
  }
  ++counts_.jumps;
  longjmp(*jump_target_, 1);
}

[[gnu::noinline]] void CallTree::CallShape(int budget) {
  const size_t shapes = std::size(kShapes) - (options_.realigned_variable_frames ? 0 : 1);
  kShapes[Random(shapes)](this, budget);
}

[[gnu::noinline]] void CallTree::TryAndCatch(int budget) {
  const Escape escape = std::exchange(escape_, Escape::kThrow);
  try {
    CallShape(budget);
  } catch (const Thrown&) {
    escape_ = Escape::kNone;  // inside a handler: jumping out would leak the exception
    check_();
  }
  escape_ = escape;
}

[[gnu::noinline]] void CallTree::SetJump(int budget) {
  std::jmp_buf here;
  std::jmp_buf* const outer = jump_target_;
  const Escape escape = escape_;
  if (setjmp(here) == 0) {
    jump_target_ = &here;
    escape_ = Escape::kJump;
    CallShape(budget);
  } else {
    check_();
  }
  jump_target_ = outer;
  escape_ = escape;
}

[[gnu::noinline]] void CallTree::RunCoroutine(int budget) {
  struct Coroutine {
    ucontext_t self;
    ucontext_t back;
    Continuation continuation;
    static void Enter(unsigned high, unsigned low) {
      auto* coroutine = reinterpret_cast<Coroutine*>(uintptr_t{high} << 32 | low);
      Continue(&coroutine->continuation);
      swapcontext(&coroutine->self, &coroutine->back);  // out and in again
      Continue(&coroutine->continuation);
    }
  };
  ++counts_.coroutines;
  ++coroutine_depth_;
  constexpr size_t kStackBytes = 512 * 1024;
  void* stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Coroutine coroutine;
  coroutine.continuation = {this, budget / 2};
  getcontext(&coroutine.self);
  coroutine.self.uc_stack.ss_sp = stack;
  coroutine.self.uc_stack.ss_size = kStackBytes;
  coroutine.self.uc_link = &coroutine.back;
  const auto address = reinterpret_cast<uintptr_t>(&coroutine);
  makecontext(&coroutine.self, reinterpret_cast<void (*)()>(Coroutine::Enter), 2,
              static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  WithBarrier([&] {
    swapcontext(&coroutine.back, &coroutine.self);
    check_();
    if (Random(2) == 0) CallShape(budget / 4);
    swapcontext(&coroutine.back, &coroutine.self);
    check_();
  });
  munmap(stack, kStackBytes);  // the next coroutine may get the same addresses, or a plug-in may
  --coroutine_depth_;
  check_();
}

[[gnu::noinline]] void CallTree::RaiseSignal(int budget, int signal) {
  ++counts_.signals;
  signal_budget_ = budget;
  WithBarrier([&] { raise(signal); });
}

void CallTree::OnSignal() {
  ++signal_depth_;
  WithBarrier(
      [&] { CallShape(signal_budget_); });  // a blocked signal arrives later, when an escape may be allowed
  --signal_depth_;
}

[[gnu::noinline]] void CallTree::SortWithCallback(int budget) {
  int values[3] = {3, 1, 2};
  Continuation continuation{this, budget / 2};
  WithBarrier([&] {
    qsort_r(
        values, 3, sizeof(int),
        [](const void* left, const void* right, void* argument) {
          Continue(argument);
          return *static_cast<const int*>(left) - *static_cast<const int*>(right);
        },
        &continuation);
  });
}

[[gnu::noinline]] void CallTree::CallPlugin(int budget) {
  using PluginFunction = void (*)(void (*)(void*), void*, int);
  if (plugin_ == nullptr || Random(4) == 0) {
    // Loads and unloads are ordered with after_unload(): code must not move in between.
    std::lock_guard lock(plugin_mutex);
    if (plugin_ != nullptr) {
      dlclose(plugin_);
      if (plugins_.after_unload) plugins_.after_unload();
    }
    plugin_ = dlopen(plugins_.paths[Random(2)], RTLD_NOW | RTLD_LOCAL);
    if (plugin_ == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    ++counts_.reloads;
  }
  auto call = reinterpret_cast<PluginFunction>(dlsym(plugin_, "PluginCall"));
  ++counts_.plugin_calls;
  Continuation continuation{this, budget};
  void* const used = std::exchange(plugin_, nullptr);  // not to be unloaded from within
  WithBarrier([&] { call(Continue, &continuation, static_cast<int>(Random(3))); });
  std::lock_guard lock(plugin_mutex);
  if (plugin_ != nullptr) {
    dlclose(used);
    if (plugins_.after_unload) plugins_.after_unload();
  } else {
    plugin_ = used;
  }
}

[[gnu::noinline]] void CallTree::CallOddFrame(int budget) {
  Continuation continuation{this, budget};
  const auto call = Random(8) == 0 ? CallWithOddFrame : CallWithSavedCfa;
  WithBarrier([&] { call(Continue, &continuation); });
}

}  // namespace plateau::unwind

// A random walk through a program: calls of many shapes, exceptions, longjmp, coroutines on stacks that come
// and go, signals, plug-ins, each step followed by a check of the caller's choice.
//
// One CallTree per thread. Run() may be called again; `check` is called from ever different stacks, also
// inside signal handlers, and must not throw.
#ifndef PLATEAU_TESTS_PRELOAD_UNWIND_CALL_TREE_H_
#define PLATEAU_TESTS_PRELOAD_UNWIND_CALL_TREE_H_

#include <csetjmp>
#include <cstdint>
#include <functional>
#include <random>

namespace plateau::unwind {

class CallTree {
 public:
  struct Options {
    bool exceptions = true;
    bool long_jumps = true;
    bool coroutines = true;
    bool signals = true;
    bool plugins = true;
    bool realigned_variable_frames = true;
  };
  struct Plugins {
    const char* paths[2] = {};
    std::function<void()> after_unload;  // called under the lock that orders loads and unloads
  };

  CallTree(uint64_t seed, const Options& options, const Plugins& plugins, std::function<void()> check);
  ~CallTree();

  void Run();

  // How often each kind of event happened.
  struct Counts {
    uint64_t throws = 0;
    uint64_t jumps = 0;
    uint64_t coroutines = 0;
    uint64_t signals = 0;
    uint64_t plugin_calls = 0;
    uint64_t reloads = 0;
  };
  const Counts& counts() const { return counts_; }

  // Below are the callbacks of C interfaces; not for users.
  void Act(int budget);
  void OnSignal();

 private:
  enum class Escape { kNone, kThrow, kJump };

  uint64_t Random(uint64_t below) { return random_() % below; }
  void CallShape(int budget);
  void TryAndCatch(int budget);
  void SetJump(int budget);
  void RunCoroutine(int budget);
  void RaiseSignal(int budget, int signal);
  void SortWithCallback(int budget);
  void CallPlugin(int budget);
  void CallOddFrame(int budget);
  void MaybeEscape();
  template <typename Function>
  void WithBarrier(Function function);

  std::mt19937_64 random_;
  const Options options_;
  const Plugins plugins_;
  const std::function<void()> check_;
  Escape escape_ = Escape::kNone;
  std::jmp_buf* jump_target_ = nullptr;
  int coroutine_depth_ = 0;
  int signal_depth_ = 0;
  int signal_budget_ = 0;
  void* alternate_stack_ = nullptr;
  void* plugin_ = nullptr;
  Counts counts_;
};

}  // namespace plateau::unwind

#endif  // PLATEAU_TESTS_PRELOAD_UNWIND_CALL_TREE_H_

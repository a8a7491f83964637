// One stack capture, by each method, on stacks of 10, 22 and 62 frames built without frame pointers.
//
// "frames" in the output is the depth that was really captured. The incremental captures differ in what
// happens between two of them: nothing, another leaf path that repeats, a random one, or a change far from
// the leaf.
#define UNW_LOCAL_ONLY
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <libunwind.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "bench/preload/call_chain.h"
#include "preload/unwind/capture.h"

namespace plateau::bench {
namespace {

using unwind::CallerRegisters;
using unwind::DefinitionSink;
using unwind::ThreadCapture;

// Definitions go nowhere; that the calls are made is part of the cost.
DefinitionSink NullSink() {
  DefinitionSink sink;
  sink.module = [](void*, const trace::ModuleRecord&) {};
  sink.module_gone = [](void*, uint32_t) {};
  sink.location = [](void*, const trace::PcRecord&) {};
  sink.node = [](void*, const trace::NodeRecord&) {};
  return sink;
}

struct Setup {
  Setup() {
    unwind::InitializeCapture();
    capture->Initialize();
  }
  std::unique_ptr<ThreadCapture> capture = std::make_unique<ThreadCapture>();
  DefinitionSink sink = NullSink();
};

[[gnu::noinline]] uint32_t CaptureHere(Setup& setup) {
  return CaptureStack(*setup.capture, CallerRegisters(), setup.sink);
}

// Runs `body` where a capture sees as many frames as the benchmark's argument says.
void AtDepth(benchmark::State& state, Setup& setup, std::function<void()> body) {
  struct Call {
    Setup* setup;
    std::function<void()>* body;
  };
  Call call{&setup, nullptr};
  std::function<void()> measure = [&] { CaptureHere(setup); };
  call.body = &measure;
  const auto run = [](void* argument) { (*static_cast<Call*>(argument)->body)(); };
  CallDeep(0, run, &call);
  const unsigned fixed = setup.capture->walker().depth();
  const auto wanted = static_cast<unsigned>(state.range(0));
  call.body = &body;
  CallDeep(wanted > fixed ? wanted - fixed : 0, run, &call);
  state.counters["frames"] = setup.capture->walker().depth();
}

void BM_Capture_SameSite(benchmark::State& state) {
  Setup setup;
  AtDepth(state, setup, [&] {
    for (auto _ : state) benchmark::DoNotOptimize(CaptureHere(setup));
  });
}

void CaptureThrough(void* argument) { benchmark::DoNotOptimize(CaptureHere(*static_cast<Setup*>(argument))); }
void CallNothing(void*) {}

void BM_Capture_RepeatedLeafPaths(benchmark::State& state) {
  Setup setup;
  AtDepth(state, setup, [&] {
    uint64_t i = 0;
    for (auto _ : state) CallThroughLeaf((i++ & 1) ? 9 : 6, CaptureThrough, &setup);
  });
}

void BM_Capture_RandomLeafPaths(benchmark::State& state) {
  Setup setup;
  AtDepth(state, setup, [&] {
    uint64_t random = 88172645463325252u;
    for (auto _ : state) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      CallThroughLeaf(random >> 20, CaptureThrough, &setup);
    }
  });
}

// The same without captures, to be subtracted.
void BM_RandomLeafPathsAlone(benchmark::State& state) {
  Setup setup;
  AtDepth(state, setup, [&] {
    uint64_t random = 88172645463325252u;
    for (auto _ : state) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      CallThroughLeaf(random >> 20, CallNothing, nullptr);
    }
  });
}

void BM_Capture_ChangeFarFromTheLeaf(benchmark::State& state) {
  Setup setup;
  AtDepth(state, setup, [&] {
    bool second = false;
    for (auto _ : state) {
      second = !second;
      CallFromSite(second, 6, CaptureThrough, &setup);
    }
  });
}

// Every frame stepped by its rule: what the first capture of a thread costs on warm code.
void BM_Capture_FullMemoised(benchmark::State& state) {
  Setup setup;
  auto walker = std::make_unique<unwind::StackWalker>();
  walker->Initialize(&unwind::SharedRuleTable());
  AtDepth(state, setup, [&] {
    for (auto _ : state) {
      walker->Forget();
      benchmark::DoNotOptimize(walker->Walk(CallerRegisters()));
    }
    CaptureHere(setup);
  });
}

void BM_UnwBacktrace(benchmark::State& state) {
  Setup setup;
  unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
  unw_set_cache_size(unw_local_addr_space, 1024, 0);
  AtDepth(state, setup, [&] {
    void* frames[512];
    for (auto _ : state) benchmark::DoNotOptimize(unw_backtrace(frames, 512));
    CaptureHere(setup);
  });
}

// glibc's own, not the function of that name that libunwind exports.
void BM_GlibcBacktrace(benchmark::State& state) {
  Setup setup;
  using Function = int (*)(void**, int);
  auto backtrace = reinterpret_cast<Function>(dlsym(dlopen("libc.so.6", RTLD_LAZY), "backtrace"));
  AtDepth(state, setup, [&] {
    void* frames[512];
    for (auto _ : state) benchmark::DoNotOptimize(backtrace(frames, 512));
    CaptureHere(setup);
  });
}

// A rule that is not in the table: finding the object, its table and running the call-frame program.
void BM_MakeRule(benchmark::State& state) {
  unwind::InitializeCapture();
  const auto address = reinterpret_cast<uintptr_t>(&unwind::CaptureStackAbove) + 20;
  for (auto _ : state) benchmark::DoNotOptimize(unwind::MakeRule(address).kind);
}

BENCHMARK(BM_Capture_SameSite)->Arg(10)->Arg(22)->Arg(62);
BENCHMARK(BM_Capture_RepeatedLeafPaths)->Arg(10)->Arg(22)->Arg(62);
BENCHMARK(BM_Capture_RandomLeafPaths)->Arg(10)->Arg(22)->Arg(62);
BENCHMARK(BM_RandomLeafPathsAlone)->Arg(22);
BENCHMARK(BM_Capture_ChangeFarFromTheLeaf)->Arg(22)->Arg(62);
BENCHMARK(BM_Capture_FullMemoised)->Arg(10)->Arg(22)->Arg(62);
BENCHMARK(BM_UnwBacktrace)->Arg(10)->Arg(22)->Arg(62);
BENCHMARK(BM_GlibcBacktrace)->Arg(10)->Arg(22)->Arg(62);
BENCHMARK(BM_MakeRule);

}  // namespace
}  // namespace plateau::bench

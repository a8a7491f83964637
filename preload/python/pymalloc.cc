#include "preload/python/pymalloc.h"

#include <atomic>
#include <cstring>

#include "preload/base/hook_frame.h"
#include "preload/python/interpreter.h"
#include "preload/python/walk_scope.h"
#include "preload/recorder/size_limit.h"
#include "preload/recorder/tracer.h"
#include "preload/sampler/sample_set.h"
#include "preload/sampler/sampler.h"

namespace plateau::python {
namespace {

// PyMemAllocatorEx and PyObjectArenaAllocator, the same since 3.5.
struct Allocator {
  void* context;
  void* (*malloc)(void* context, size_t bytes);
  void* (*calloc)(void* context, size_t count, size_t bytes);
  void* (*realloc)(void* context, void* p, size_t bytes);
  void (*free)(void* context, void* p);
};
struct ArenaAllocator {
  void* context;
  void* (*allocate)(void* context, size_t bytes);
  void (*release)(void* context, void* p, size_t bytes);
};
enum Domain { kRaw = 0, kMem = 1, kObject = 2, kDomains = 3 };

// Each installation has its own copy of what it wraps: a call that is under way may still be in the last one.
constexpr size_t kMaxInstallations = 8;
constinit Allocator g_wrapped[kMaxInstallations][kDomains] = {};
constinit size_t g_installations = 0;
constinit ArenaAllocator g_wrapped_arena = {};

constinit std::atomic<PymallocState> g_state{PymallocState::kOff};
constinit std::atomic<bool> g_checking{false};
// The hooks are to go, and no thread that asked them to held the interpreter's lock.
constinit std::atomic<bool> g_is_leaving{false};
void TryToLeave();
constinit std::atomic<size_t> g_small_bytes{kSmallRequestBytes};
constinit SampleSet g_samples;

// In front of the set, and small enough to stay in the first cache: how many samples share a pool's hash.
constexpr unsigned kPoolShift = 14;
constexpr unsigned kLog2Pools = 12;
constinit std::atomic<uint8_t> g_pools[1 << kLog2Pools] = {};

std::atomic<uint8_t>& PoolOf(const void* p) {
  return g_pools[(reinterpret_cast<uintptr_t>(p) >> kPoolShift) * 0x9e3779b97f4a7c15u >> (64 - kLog2Pools)];
}

constinit thread_local int64_t t_bytes_until_sample = 0;
constinit thread_local GapRandom t_random;
constinit thread_local uint64_t t_gap_mean_bytes = 0;
constinit thread_local bool t_is_seeded = false;
constinit thread_local bool t_in_arena = false;

// The mean number of bytes between two samples; 0 when each object is recorded.
uint64_t MeanGap() { return RecordsEachObject() ? 0 : g_rate.sample_bytes.load(std::memory_order_relaxed); }

// How far it is to the next point, of which samples are some or all; 0 when each object is recorded.
int64_t NextGap() {
  const uint64_t mean_bytes = RecordsEachObject() ? 0 : g_rate.point_bytes.load(std::memory_order_relaxed);
  if (mean_bytes == 0) return 0;
  if (!t_is_seeded) {
    t_is_seeded = true;
    uint64_t cycles = reinterpret_cast<uintptr_t>(&t_random);
    cycles ^= Now() * 0x9e3779b97f4a7c15u;
    t_random.Seed(cycles);
  }
  t_gap_mean_bytes = mean_bytes;
  return static_cast<int64_t>(t_random.Gap(mean_bytes));
}

void CountPool(const void* p, int change) {
  std::atomic<uint8_t>& count = PoolOf(p);
  uint8_t now = count.load(std::memory_order_relaxed);
  while (now != 255 &&
         !count.compare_exchange_weak(now, static_cast<uint8_t>(now + change), std::memory_order_relaxed)) {
  }
}

// The countdown of a thread ended with a request that got `p`. `frame` is that of the hook.
void Sample(void* p, size_t bytes, const void* frame) {
  if (g_is_leaving.load(std::memory_order_relaxed)) [[unlikely]]
    TryToLeave();
  const bool is_first = !t_is_seeded && MeanGap() != 0;
  if (Enabled() && !InHook()) CountPointIn();
  uint64_t old_mean_bytes = t_gap_mean_bytes;
  t_bytes_until_sample = NextGap();
  if (is_first) {
    // The thread had no gap yet: this request begins its first one.
    t_bytes_until_sample -= static_cast<int64_t>(bytes);
    if (t_bytes_until_sample >= 0) return;
    old_mean_bytes = t_gap_mean_bytes;
    t_bytes_until_sample = NextGap();
  }
  if (!t_random.Keeps(old_mean_bytes, MeanGap())) return;
  if (p == nullptr || bytes > g_small_bytes.load(std::memory_order_relaxed) || !Enabled() || InHook()) return;
  if (!g_samples.Insert(reinterpret_cast<uintptr_t>(p), {bytes, 0, 0})) return;
  CountPool(p, 1);
  const uint32_t stack = RecordAllocIn(p, bytes, frame);
  if (stack != 0)
    g_samples.Insert(reinterpret_cast<uintptr_t>(p), {bytes, stack, 0});  // for who asks for holders
}

[[gnu::noinline]] void ReleaseSlow(void* p) {
  SampledBlock sample;
  if (!g_samples.MayContain(reinterpret_cast<uintptr_t>(p)) ||
      !g_samples.Erase(reinterpret_cast<uintptr_t>(p), &sample)) {
    return;
  }
  CountPool(p, -1);
  RecordFreeIn(p);
}

[[gnu::always_inline]] inline void OnReleased(void* p) {
  if (PoolOf(p).load(std::memory_order_relaxed) != 0) [[unlikely]]
    ReleaseSlow(p);
}

// True when a request is not sampled; it has been counted down. Large requests reach malloc and are seen
// there.
[[gnu::always_inline]] inline bool PassesBy(size_t bytes) {
  if (bytes > kSmallRequestBytes) return true;
  const int64_t left = t_bytes_until_sample - static_cast<int64_t>(bytes);
  if (left < 0) [[unlikely]]
    return false;
  t_bytes_until_sample = left;
  return true;
}

// The slow halves are entered by a jump, so their caller is the interpreter.
[[gnu::noinline]] void* MallocSampled(const Allocator* wrapped, size_t bytes) {
  void* p = wrapped->malloc(wrapped->context, bytes);
  Sample(p, bytes, HookFrame());
  return p;
}

[[gnu::noinline]] void* CallocSampled(const Allocator* wrapped, size_t count, size_t bytes) {
  void* p = wrapped->calloc(wrapped->context, count, bytes);
  Sample(p, count * bytes, HookFrame());
  return p;
}

void* HookMalloc(void* context, size_t bytes) {
  const auto* wrapped = static_cast<const Allocator*>(context);
  if (PassesBy(bytes)) [[likely]]
    return wrapped->malloc(wrapped->context, bytes);
  return MallocSampled(wrapped, bytes);
}

void* HookCalloc(void* context, size_t count, size_t bytes) {
  const auto* wrapped = static_cast<const Allocator*>(context);
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total) || PassesBy(total)) [[likely]]
    return wrapped->calloc(wrapped->context, count, bytes);
  return CallocSampled(wrapped, count, bytes);
}

// The caller holds the GIL, so nobody can be given the old block before it is reported.
[[gnu::noinline]] void* ReallocSlow(const Allocator* wrapped, void* old, size_t bytes, bool passes_by) {
  void* p = wrapped->realloc(wrapped->context, old, bytes);
  if (p == nullptr) return nullptr;
  if (old != nullptr) OnReleased(old);
  if (!passes_by) Sample(p, bytes, HookFrame());
  return p;
}

void* HookRealloc(void* context, void* old, size_t bytes) {
  const auto* wrapped = static_cast<const Allocator*>(context);
  const bool passes_by = PassesBy(bytes);
  if (passes_by && PoolOf(old).load(std::memory_order_relaxed) == 0) [[likely]]
    return wrapped->realloc(wrapped->context, old, bytes);
  return ReallocSlow(wrapped, old, bytes, passes_by);
}

[[gnu::noinline]] void FreeSlow(const Allocator* wrapped, void* p) {
  BeforeRelease();
  OnReleased(p);
  wrapped->free(wrapped->context, p);
}

void HookFree(void* context, void* p) {
  const auto* wrapped = static_cast<const Allocator*>(context);
  if (IsFinalizing() || PoolOf(p).load(std::memory_order_relaxed) != 0) [[unlikely]]
    return FreeSlow(wrapped, p);
  return wrapped->free(wrapped->context, p);
}

void* HookArenaAllocate(void*, size_t bytes) {
  const bool was_in_arena = t_in_arena;
  t_in_arena = true;
  void* p = g_wrapped_arena.allocate(g_wrapped_arena.context, bytes);
  t_in_arena = was_in_arena;
  return p;
}

void HookArenaRelease(void*, void* p, size_t bytes) {
  const bool was_in_arena = t_in_arena;
  t_in_arena = true;
  g_wrapped_arena.release(g_wrapped_arena.context, p, bytes);
  t_in_arena = was_in_arena;
}

struct Functions {
  void (*get)(int domain, Allocator* allocator);
  void (*set)(int domain, Allocator* allocator);
  void (*get_arena)(ArenaAllocator* allocator);
  void (*set_arena)(ArenaAllocator* allocator);
  const char* (*name)();
  int (*is_initialized)();
  void* (*unchecked_state)();

  bool complete() const { return get != nullptr && set != nullptr && is_initialized != nullptr; }
};

template <typename Function>
void Find(Function* function, const char* name) {
  *function = reinterpret_cast<Function>(InterpreterSymbol(name));
}

Functions FindFunctions() {
  Functions functions;
  Find(&functions.get, "PyMem_GetAllocator");
  Find(&functions.set, "PyMem_SetAllocator");
  Find(&functions.get_arena, "PyObject_GetArenaAllocator");
  Find(&functions.set_arena, "PyObject_SetArenaAllocator");
  Find(&functions.name, "_PyMem_GetCurrentAllocatorName");
  Find(&functions.is_initialized, "Py_IsInitialized");
  Find(&functions.unchecked_state, "PyThreadState_GetUnchecked");
  if (functions.unchecked_state == nullptr) Find(&functions.unchecked_state, "_PyThreadState_UncheckedGet");
  return functions;
}

// Another thread may be in the allocator unless we hold the GIL or there is no interpreter yet.
bool MayChangeAllocators(const Functions& functions) {
  if (functions.is_initialized() == 0) return true;
  if (functions.unchecked_state == nullptr || !Ready()) return false;
  const void* state = g_interpreter.this_thread_state();
  return state != nullptr && functions.unchecked_state() == state;
}

bool IsOurs(const Functions& functions, int domain) {
  Allocator now = {};
  functions.get(domain, &now);
  return now.malloc == HookMalloc;
}

// Where what is in force now is kept, or was kept by an installation before; null when there is no room.
Allocator* CopyOfAllocators(const Functions& functions) {
  Allocator now[kDomains] = {};
  for (int domain : {kMem, kObject}) functions.get(domain, &now[domain]);
  for (size_t i = 0; i < g_installations; ++i) {
    if (std::memcmp(g_wrapped[i], now, sizeof(now)) == 0) return g_wrapped[i];
  }
  if (g_installations == kMaxInstallations) return nullptr;
  std::memcpy(g_wrapped[g_installations], now, sizeof(now));
  return g_wrapped[g_installations++];
}

// Puts back what the hooks wrap where they are the outermost. Where somebody wrapped them in turn they stay, and pass by.
void Unwrap(const Functions& functions) {
  for (int domain : {kMem, kObject}) {
    Allocator now = {};
    functions.get(domain, &now);
    if (now.malloc != HookMalloc) continue;
    Allocator wrapped = *static_cast<const Allocator*>(now.context);
    functions.set(domain, &wrapped);
  }
  if (functions.get_arena != nullptr && functions.set_arena != nullptr) {
    ArenaAllocator now = {};
    functions.get_arena(&now);
    ArenaAllocator wrapped = g_wrapped_arena;
    if (now.allocate == HookArenaAllocate) functions.set_arena(&wrapped);
  }
}

void TryToLeave() {
  if (g_checking.exchange(true, std::memory_order_acquire)) return;
  const Functions functions = FindFunctions();
  if (g_is_leaving.load(std::memory_order_relaxed) && functions.complete() &&
      MayChangeAllocators(functions)) {
    Unwrap(functions);
    g_is_leaving.store(false, std::memory_order_relaxed);
  }
  g_checking.store(false, std::memory_order_release);
}

void Wrap(const Functions& functions) {
  Allocator* wrapped = CopyOfAllocators(functions);
  if (wrapped == nullptr) return g_state.store(PymallocState::kReplaced);
  for (int domain : {kMem, kObject}) {
    if (wrapped[domain].malloc == HookMalloc) continue;
    Allocator hooks = {&wrapped[domain], HookMalloc, HookCalloc, HookRealloc, HookFree};
    functions.set(domain, &hooks);
  }
  if (functions.get_arena != nullptr && functions.set_arena != nullptr) {
    ArenaAllocator now = {};
    functions.get_arena(&now);
    if (now.allocate != HookArenaAllocate) {
      g_wrapped_arena = now;
      ArenaAllocator hooks = {nullptr, HookArenaAllocate, HookArenaRelease};
      functions.set_arena(&hooks);
    }
  }
  g_state.store(PymallocState::kSampling, std::memory_order_release);
}

}  // namespace

void LeavePymalloc() {
  if (g_state.exchange(PymallocState::kOff, std::memory_order_acq_rel) == PymallocState::kOff) return;
  for (std::atomic<uint8_t>& pool : g_pools) pool.store(0, std::memory_order_relaxed);  // frees pass by
  g_is_leaving.store(true, std::memory_order_relaxed);
  TryToLeave();
}

void InstallPymalloc() {
  if (!Ready() || g_state.load(std::memory_order_acquire) != PymallocState::kOff) return;
  const Functions functions = FindFunctions();
  if (!functions.complete() || !MayChangeAllocators(functions)) return;
  g_is_leaving.store(false, std::memory_order_relaxed);
  if (IsOurs(functions, kObject) && IsOurs(functions, kMem)) {  // of a recording before, never taken out
    return g_state.store(PymallocState::kSampling, std::memory_order_release);
  }
  Wrap(functions);
}

bool CheckPymalloc() {
  const PymallocState before = g_state.load(std::memory_order_acquire);
  if (before == PymallocState::kMalloc || !Ready() || g_checking.exchange(true, std::memory_order_acquire))
    return false;
  const Functions functions = FindFunctions();
  if (!functions.complete() || functions.is_initialized() == 0) {
    // There is nothing to check yet.
  } else if (before == PymallocState::kOff) {
    InstallPymalloc();
  } else if (IsOurs(functions, kObject) && IsOurs(functions, kMem)) {
    g_state.store(PymallocState::kSampling, std::memory_order_release);
  } else if (const char* name = functions.name != nullptr ? functions.name() : nullptr; name != nullptr) {
    // Python's own allocators and nobody else's: the wrappers were dropped. Without a name somebody wrapped
    // them in turn, as tracemalloc does, and they are still called.
    if (strncmp(name, "malloc", 6) == 0) {
      g_state.store(PymallocState::kMalloc, std::memory_order_release);
    } else if (MayChangeAllocators(functions)) {
      // The debug allocator adds up to 32 bytes, so larger requests leave pymalloc.
      if (strstr(name, "debug") != nullptr) g_small_bytes.store(kSmallRequestBytes - 32);
      Wrap(functions);
    } else {
      g_state.store(PymallocState::kReplaced, std::memory_order_release);
    }
  }
  g_checking.store(false, std::memory_order_release);
  return g_state.load(std::memory_order_acquire) != before;
}

bool RecordsEachObject() {
  return g_options.python_alloc == PythonAlloc::kExact &&
         g_rate.coarsened.load(std::memory_order_relaxed) == 0;
}

SampleSet& PymallocSamples() { return g_samples; }

PymallocState GetPymallocState() { return g_state.load(std::memory_order_acquire); }

bool InArenaAllocator() { return t_in_arena; }

void ResetPymallocInChild() {
  g_checking.store(false, std::memory_order_relaxed);
  g_samples.ResetInChild();
  for (std::atomic<uint8_t>& pool : g_pools) pool.store(0, std::memory_order_relaxed);
  t_is_seeded = false;  // another sequence than the parent's, and a gap of its own
  t_bytes_until_sample = 0;
}

}  // namespace plateau::python

// Stands in for libtorch_cpu.so: what the shim looks for by name, in a variant per build.
//   FAKE_GOOD      as torch 1.13 to 2.x
//   FAKE_OLD       without the function that vouches for the layout; registering would be fatal
//   FAKE_MISSING   nothing to register with
//   FAKE_BAD_NAME  a range whose name cannot be read
//   FAKE_EMPTY     nothing to register with and no method of a known name: only time is left
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#ifdef FAKE_EMPTY
#define FAKE_MISSING
#define SGD_STEP a_step_by_another_name
#else
#define SGD_STEP _ZN5torch5optim3SGD4stepESt8functionIFN2at6TensorEvEE
#endif

namespace at {

struct RecordFunction {
  const char* text;
  const char* name() const;
};

struct RecordFunctionCallback {
  void* (*start)(void** context, const RecordFunction* range);
  void (*end)(const RecordFunction* range, void* context);
  double sampling_probability;
  bool scopes[10];
  bool needs[3];
};

enum class RecordScope : uint8_t { kUser = 7 };

// As torch does it: a copy is made under the lock, and allocates meanwhile.
using Handled = std::pair<uint64_t, RecordFunctionCallback>;
std::mutex g_lock;
uint64_t g_last = 0;
std::vector<Handled>& Callbacks() {
  static auto* callbacks = new std::vector<Handled>;
  return *callbacks;
}
std::vector<Handled> Snapshot() {
  const std::lock_guard lock(g_lock);
  std::vector<Handled> copy;
  copy.reserve(Callbacks().size() + 1);
  copy = Callbacks();
  return copy;
}

#ifndef FAKE_MISSING
uint64_t addGlobalCallback(RecordFunctionCallback callback) {
#ifdef FAKE_OLD
  fprintf(stderr, "registered with a layout that does not fit\n");
  abort();
#endif
  const std::lock_guard lock(g_lock);
  Callbacks().emplace_back(++g_last, callback);
  return g_last;
}
void removeCallback(uint64_t handle) {
  const std::lock_guard lock(g_lock);
  std::erase_if(Callbacks(), [handle](const Handled& callback) { return callback.first == handle; });
}
#endif

#ifdef FAKE_BAD_NAME
const char* RecordFunction::name() const { return reinterpret_cast<const char*>(7); }
#else
const char* RecordFunction::name() const { return text; }
#endif

#ifndef FAKE_OLD
void* getStepCallbacksUnlessEmpty(RecordScope) { return nullptr; }
#endif

}  // namespace at

namespace c10 {
struct ProfiledCPUMemoryReporter {
  void New(void* storage, size_t bytes);
  void Delete(void* storage);
};
void ProfiledCPUMemoryReporter::New(void*, size_t) {}
void ProfiledCPUMemoryReporter::Delete(void*) {}
}  // namespace c10

// torch::optim::SGD::step(std::function<at::Tensor()>), by its mangled name: throws, as a closure may.
extern "C" void* SGD_STEP(void* result, void* self, void*) {
  if (self != nullptr) throw std::runtime_error("from the closure");
  return result;
}

namespace {

void RunRange(int scope, const char* name) {
  constexpr size_t kMost = 8;
  const at::RecordFunction range{name};
  const std::vector<at::Handled> callbacks = at::Snapshot();
  void* contexts[kMost];
  for (size_t i = 0; i < callbacks.size() && i < kMost; ++i) {
    const at::RecordFunctionCallback& callback = callbacks[i].second;
    if (callback.scopes[scope] && callback.start(&contexts[i], &range) != &contexts[i]) abort();
  }
  for (size_t i = 0; i < callbacks.size() && i < kMost; ++i) {
    const at::RecordFunctionCallback& callback = callbacks[i].second;
    if (callback.scopes[scope]) callback.end(&range, contexts[i]);
  }
}

}  // namespace

// Tensors and ranges until `is_over` says so. Nothing is allocated but the copies under the lock. Returns how many callbacks
// are left.
extern "C" size_t fake_torch_run(bool (*is_over)()) {
  c10::ProfiledCPUMemoryReporter reporter;
  char storage[64];
  while (!is_over()) {
    reporter.New(storage, sizeof(storage));
    RunRange(7, "a range of the user");
    reporter.Delete(storage);
  }
  return at::Callbacks().size();
}

// What the driver calls after dlopen(): a tensor, three steps, a C++ step that works and one that throws.
extern "C" int fake_torch_train() {
  c10::ProfiledCPUMemoryReporter reporter;
  char storage[64];
  reporter.New(storage, sizeof(storage));
  for (int i = 0; i < 3; ++i) {
    RunRange(0, "aten::add");
    RunRange(7, "a range of the user");
    RunRange(7, "Optimizer.step#Adam.step");
  }
  reporter.Delete(storage);
  char tensor[8];
  if (SGD_STEP(tensor, nullptr, nullptr) != tensor) return 1;
  try {
    SGD_STEP(tensor, storage, nullptr);
  } catch (const std::runtime_error&) {
    return 0;
  }
  return 2;
}

// Stands in for libtorch_cpu.so: what the shim looks for by name, in a variant per build.
//   FAKE_GOOD      as torch 1.13 to 2.x
//   FAKE_OLD       without the function that vouches for the layout; registering would be fatal
//   FAKE_MISSING   nothing to register with
//   FAKE_BAD_NAME  a range whose name cannot be read
//   FAKE_EMPTY     nothing to register with and no method of a known name: only time is left
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
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

std::vector<RecordFunctionCallback>& Callbacks() {
  static auto* callbacks = new std::vector<RecordFunctionCallback>;
  return *callbacks;
}

#ifndef FAKE_MISSING
uint64_t addGlobalCallback(RecordFunctionCallback callback) {
#ifdef FAKE_OLD
  fprintf(stderr, "registered with a layout that does not fit\n");
  abort();
#endif
  Callbacks().push_back(callback);
  return Callbacks().size();
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
  const at::RecordFunction range{name};
  std::vector<void*> contexts;
  for (const auto& callback : at::Callbacks()) {
    void* context = &context;
    if (callback.scopes[scope] && callback.start(&context, &range) != &context) abort();
    contexts.push_back(context);
  }
  for (size_t i = 0; i < contexts.size(); ++i) {
    const auto& callback = at::Callbacks()[i];
    if (callback.scopes[scope]) callback.end(&range, contexts[i]);
  }
}

}  // namespace

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

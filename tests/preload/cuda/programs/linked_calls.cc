// usage: linked_calls runtime|driver: makes every wrapped call as a program linked with -lcudart and -lcuda
// does.
#include <string.h>

#include "tests/preload/cuda/programs/driver_calls.h"
#include "tests/preload/cuda/programs/runtime_calls.h"

extern "C" {
#define PLATEAU_CUDA_RUNTIME(name, signature, memory) int name();
#define PLATEAU_CUDA_DRIVER(name, lookup, since, signature, memory) int name();
#include "preload/cuda/cuda_calls.inc"
#undef PLATEAU_CUDA_RUNTIME
#undef PLATEAU_CUDA_DRIVER
int cuInit();
int cuDevicePrimaryCtxRetain();
int cuCtxSetCurrent();
int cuCtxCreate_v2();
}

namespace {

struct Linked {
  const char* name;
  int (*function)();
};
const Linked kLinked[] = {
#define PLATEAU_CUDA_RUNTIME(name, signature, memory) {#name, &name},
#define PLATEAU_CUDA_DRIVER(name, lookup, since, signature, memory) {#name, &name},
#include "preload/cuda/cuda_calls.inc"
#undef PLATEAU_CUDA_RUNTIME
#undef PLATEAU_CUDA_DRIVER
    {"cuInit", &cuInit},
    {"cuDevicePrimaryCtxRetain", &cuDevicePrimaryCtxRetain},
    {"cuCtxSetCurrent", &cuCtxSetCurrent},
    {"cuCtxCreate_v2", &cuCtxCreate_v2},
};

void* Find(const char* name) {
  for (const Linked& linked : kLinked) {
    if (strcmp(linked.name, name) == 0) return reinterpret_cast<void*>(linked.function);
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  if (strcmp(argv[1], "runtime") == 0) {
    RunRuntimeCalls(Find);
  } else {
    RunDriverCalls(Find, true);
  }
}

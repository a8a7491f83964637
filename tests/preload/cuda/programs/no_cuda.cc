// Calls every exported wrapper in a process without any CUDA library: each must say so, and nothing may
// happen. Then looks up other names, which must be found exactly as without us.
#include <string.h>

#include "tests/preload/cuda/programs/program.h"

int main() {
  static const struct {
    const char* name;
    int expected;
  } kNames[] = {
#define PLATEAU_CUDA_RUNTIME(name, signature, memory) {#name, 35},
#define PLATEAU_CUDA_DRIVER(name, lookup, since, signature, memory) {#name, 100},
#include "preload/cuda/cuda_calls.inc"
#undef PLATEAU_CUDA_RUNTIME
#undef PLATEAU_CUDA_DRIVER
  };
  for (const auto& row : kNames) {
    auto* function =
        reinterpret_cast<int (*)(void*, void*, void*, void*, void*, void*)>(dlsym(RTLD_DEFAULT, row.name));
    REQUIRE(function != nullptr);
    errno = 77;
    const int result = function(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    if (result != row.expected || errno != 77) {
      fprintf(stderr, "%s: %d, errno %d\n", row.name, result, errno);
      return 1;
    }
  }
  // Names that begin alike, RTLD_NEXT, missing names and the error text are the real dlsym's business.
  void* libc = dlopen("libc.so.6", RTLD_LAZY);
  REQUIRE(dlsym(libc, "cudnnCreate") == nullptr);
  const char* error = dlerror();
  REQUIRE(error != nullptr && strstr(error, "cudnnCreate") != nullptr);
  REQUIRE(dlsym(libc, "cudaMalloc") == nullptr);
  error = dlerror();
  REQUIRE(error != nullptr && strstr(error, "cudaMalloc") != nullptr);
  REQUIRE(dlsym(libc, "getenv") == reinterpret_cast<void*>(&getenv));
  REQUIRE(dlsym(RTLD_NEXT, "getenv") == reinterpret_cast<void*>(&getenv));
  REQUIRE(dlerror() == nullptr);
  // The whole program's handle leads to our exported function; it stays what it is.
  void* program = dlopen(nullptr, RTLD_LAZY);
  REQUIRE(dlsym(program, "cudaMalloc") == dlsym(RTLD_DEFAULT, "cudaMalloc"));
}

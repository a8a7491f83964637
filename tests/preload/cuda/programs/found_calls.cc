// usage: found_calls ROAD: makes every wrapped call with functions found at run time, in libraries that
// nothing is linked with and that are opened RTLD_LOCAL. ROAD is runtime12, runtime13, driver (dlsym),
// lookup1, lookup2 (cuGetProcAddress) or lookup2_per_thread.
#include <string.h>

#include "tests/preload/cuda/programs/driver_calls.h"
#include "tests/preload/cuda/programs/runtime_calls.h"

namespace {

void* g_library = nullptr;
void* FindByName(const char* name) { return dlsym(g_library, name); }

using Lookup1 = int(const char*, void**, int, uint64_t);
using Lookup2 = int(const char*, void**, int, uint64_t, int*);
Lookup1* g_lookup1 = nullptr;
Lookup2* g_lookup2 = nullptr;
uint64_t g_flags = 0;

// cuGetProcAddress() takes names without the suffix of their version.
struct BaseName {
  explicit BaseName(const char* name) {
    snprintf(text, sizeof text, "%s", name);
    const size_t length = strlen(text);
    if (length > 3 && strcmp(text + length - 3, "_v2") == 0) text[length - 3] = '\0';
  }
  char text[64];
};

void* FindByLookup1(const char* name) {
  void* function = nullptr;
  return g_lookup1(BaseName(name).text, &function, 11080, g_flags) == 0 ? function : nullptr;
}

void* FindByLookup1At12(const char* name) {
  void* function = nullptr;
  return g_lookup1(BaseName(name).text, &function, 12030, g_flags) == 0 ? function : nullptr;
}

void* FindByLookup2(const char* name) {
  void* function = nullptr;
  int status = -1;
  const int result = g_lookup2(BaseName(name).text, &function, 12030, g_flags, &status);
  REQUIRE(status == (result == 0 ? 0 : 1));
  return function;
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  const char* road = argv[1];
  if (strncmp(road, "runtime", 7) == 0) {
    g_library = Open(strcmp(road, "runtime12") == 0 ? "libcudart.so.12" : "libcudart.so.13");
    RunRuntimeCalls(FindByName);
    return 0;
  }
  g_library = Open("libcuda.so.1");
  if (strcmp(road, "driver") == 0) {
    RunDriverCalls(FindByName, true);
    return 0;
  }
  void* function = nullptr;
  int status = 0;
  g_lookup1 = reinterpret_cast<Lookup1*>(dlsym(g_library, "cuGetProcAddress"));
  g_lookup2 = reinterpret_cast<Lookup2*>(dlsym(g_library, "cuGetProcAddress_v2"));
  if (strcmp(road, "lookup1") == 0) {
    // The lookup finds itself, in the ABI that was asked for, and what it finds is wrapped again.
    g_lookup1 = reinterpret_cast<Lookup1*>(FindByLookup1("cuGetProcAddress"));
    REQUIRE(g_lookup1 != nullptr);
    REQUIRE(g_lookup1("", &function, 11080, 0) != 0);  // a legal probe
    // The ABI of CUDA 2 passes unwrapped: its function in the null driver refuses everything.
    REQUIRE(g_lookup1("cuMemAlloc", &function, 2000, 0) == 0);
    unsigned short_pointer = 0;
    REQUIRE(reinterpret_cast<int (*)(unsigned*, unsigned)>(function)(&short_pointer, 9) == 1);
    RunDriverCalls(FindByLookup1At12, false);
    return 0;
  }
  if (strcmp(road, "lookup2_per_thread") == 0) g_flags = 2;
  REQUIRE(g_lookup2("cuGetProcAddress", &function, 12000, 0, &status) == 0);
  g_lookup2 = reinterpret_cast<Lookup2*>(function);
  RunDriverCalls(FindByLookup2, false);
}

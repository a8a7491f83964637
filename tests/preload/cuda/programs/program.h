// What the traced programs share: how they find CUDA functions, and how they complain.
#ifndef PLATEAU_TESTS_PRELOAD_CUDA_PROGRAMS_PROGRAM_H_
#define PLATEAU_TESTS_PRELOAD_CUDA_PROGRAMS_PROGRAM_H_

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <initializer_list>

// Finds a function by its exported name, e.g. "cuMemAlloc_v2"; null when this road does not lead to it.
using Finder = void* (*)(const char* name);

#define REQUIRE(condition)                                                    \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (false)

// Calls `name` as found by `find`, and checks the result and that errno is left alone.
#define CALL_EXPECTING(expected, find, name, type, ...)                                               \
  do {                                                                                                \
    auto* function_ = reinterpret_cast<type*>(find(name));                                            \
    REQUIRE(function_ != nullptr && name != nullptr);                                                 \
    errno = 77;                                                                                       \
    const int result_ = function_(__VA_ARGS__);                                                       \
    if (result_ != (expected) || errno != 77) {                                                       \
      fprintf(stderr, "%s:%d: %s returned %d, errno %d\n", __FILE__, __LINE__, name, result_, errno); \
      exit(1);                                                                                        \
    }                                                                                                 \
  } while (false)
#define CALL(find, name, type, ...) CALL_EXPECTING(0, find, name, type, __VA_ARGS__)

inline void* Open(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fprintf(stderr, "%s\n", dlerror());
  REQUIRE(handle != nullptr);
  return handle;
}

struct Extent {
  size_t width, height, depth;
};
struct PitchedPointer {
  void* pointer;
  size_t pitch, width, height;
};
struct ChannelFormat {
  int bits[4];
  int kind;
};
struct ArrayDescriptor {
  size_t width, height;
  int format;
  unsigned channels;
};
struct Array3DDescriptor {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};
struct IpcHandle {
  char bytes[64];
};
struct ExternalBuffer {
  uint64_t offset, bytes;
  unsigned flags;
};
struct PoolProperties {
  int type, handle_types, location_type, location;
  char rest[72];
};
struct GraphAllocParameters {
  PoolProperties pool;
  const void* access;
  size_t access_count, bytes;
  void* pointer;
};

#endif  // PLATEAU_TESTS_PRELOAD_CUDA_PROGRAMS_PROGRAM_H_

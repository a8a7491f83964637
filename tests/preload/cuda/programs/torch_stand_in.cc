// What torch's caching allocator does, as far as Plateau can see it: segments from cudaMalloc, blocks inside
// them reported with torch's own totals, and a report of what the device refused. Called from Python by
// tests/e2e/cuda_report_test.py.
#include <stddef.h>
#include <stdint.h>

extern "C" int cudaMalloc(void** pointer, size_t bytes);

namespace c10 {
struct Device {
  int8_t type, index;
};
// Defined by libplateau.so, which is preloaded; absent without it.
__attribute__((weak)) void reportMemoryUsageToProfiler(void*, int64_t, size_t, size_t, Device);
__attribute__((weak)) void reportOutOfMemoryToProfiler(int64_t, size_t, size_t, Device);
}  // namespace c10

namespace {
constexpr c10::Device kFirstCudaDevice{1, 0};
size_t g_allocated_bytes = 0;
size_t g_reserved_bytes = 0;
size_t g_lie_bytes = 0;
}  // namespace

extern "C" {

void* stand_in_segment(size_t bytes) {
  void* segment = nullptr;
  if (cudaMalloc(&segment, bytes) != 0) {
    c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(bytes), g_allocated_bytes, g_reserved_bytes,
                                     kFirstCudaDevice);
    return nullptr;
  }
  g_reserved_bytes += bytes;
  return segment;
}

void stand_in_block(void* segment, size_t offset, size_t bytes) {
  g_allocated_bytes += bytes;
  c10::reportMemoryUsageToProfiler(static_cast<char*>(segment) + offset, static_cast<int64_t>(bytes),
                                   g_allocated_bytes + g_lie_bytes, g_reserved_bytes, kFirstCudaDevice);
}

void stand_in_free(void* segment, size_t offset, size_t bytes) {
  g_allocated_bytes -= bytes;
  c10::reportMemoryUsageToProfiler(static_cast<char*>(segment) + offset, -static_cast<int64_t>(bytes),
                                   g_allocated_bytes + g_lie_bytes, g_reserved_bytes, kFirstCudaDevice);
}

// From now on the totals are wrong by so much.
void stand_in_lie(size_t bytes) { g_lie_bytes = bytes; }
}

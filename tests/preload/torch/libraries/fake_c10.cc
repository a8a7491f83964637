// What libc10 defines: each function notes its arguments where the test can read them.
#include <stdint.h>

extern "C" {
int64_t fake_c10_seen[6];
int fake_c10_calls;

static void Note(int which, int64_t a, int64_t b, int64_t c, int64_t d, int64_t device) {
  ++fake_c10_calls;
  const int64_t values[6] = {which, a, b, c, d, device & 0xffff};
  for (int i = 0; i < 6; ++i) fake_c10_seen[i] = values[i];
}

void _ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE(void* p, int64_t n, uint64_t device) {
  Note(1, reinterpret_cast<int64_t>(p), n, 0, 0, device);
}
void _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(void* p, int64_t n, int64_t a, int64_t r,
                                                           uint64_t device) {
  Note(2, reinterpret_cast<int64_t>(p), n, a, r, device);
}
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void* p, int64_t n, uint64_t a, uint64_t r,
                                                           uint64_t device) {
  Note(3, reinterpret_cast<int64_t>(p), n, a, r, device);
}
void _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE(int64_t n, int64_t a, int64_t r, uint64_t device) {
  Note(4, 0, n, a, r, device);
}
void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t n, uint64_t a, uint64_t r, uint64_t device) {
  Note(5, 0, n, a, r, device);
}
}

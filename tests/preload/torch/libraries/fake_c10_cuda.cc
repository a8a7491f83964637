// Calls libc10 as libc10_cuda does: c10::Device is two bytes, so the rest of its register holds whatever was
// there.
#include <stdint.h>

extern "C" {
void _ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE(void*, int64_t, uint64_t);
void _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(void*, int64_t, int64_t, int64_t, uint64_t);
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void*, int64_t, uint64_t, uint64_t, uint64_t);
void _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE(int64_t, int64_t, int64_t, uint64_t);
void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t, uint64_t, uint64_t, uint64_t);

void fake_c10_cuda_report(int which, void* p, int64_t n, int64_t a, int64_t r, uint64_t device) {
  device |= 0x7fff5a5a00000000;
  switch (which) {
    case 1:
      _ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE(p, n, device);
      break;
    case 2:
      _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(p, n, a, r, device);
      break;
    case 3:
      _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(p, n, a, r, device);
      break;
    case 4:
      _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE(n, a, r, device);
      break;
    case 5:
      _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(n, a, r, device);
      break;
  }
}
}

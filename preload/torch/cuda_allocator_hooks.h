// Blocks of torch's CUDA caching allocator, reported by torch itself.
//
// Defines c10::reportMemoryUsageToProfiler in the three signatures PyTorch 1.6 to 2.x has used, and
// c10::reportOutOfMemoryToProfiler in two. The caching allocator calls them on every allocation and free,
// profiler or not, with the rounded block size and its own totals; each call becomes one
// plateau_device_event() of PLATEAU_LEVEL_TENSOR and is then forwarded to the libc10 the caller was linked
// with. Reports about other devices than CUDA (and ROCm, which uses the same device type) are forwarded only.
//
// Reentrancy: called while torch holds its allocator mutex. No CUDA or torch call is made except the
// forwarded one. Allocates: never. Throws: never itself; what the real function throws passes through. errno:
// as the real one left it. Linking: the symbols must be exported from libplateau.so;
// kCudaAllocatorHookSymbols lists them for its checks.
#ifndef PLATEAU_PRELOAD_TORCH_CUDA_ALLOCATOR_HOOKS_H_
#define PLATEAU_PRELOAD_TORCH_CUDA_ALLOCATOR_HOOKS_H_

#include <stdint.h>

namespace plateau {

// c10::Device as it arrives in a register: bits 0-7 type, bits 8-15 index, the rest undefined.
struct TorchDevice {
  static constexpr int8_t kCuda = 1;
  int8_t type;
  int8_t index;
  static constexpr TorchDevice FromRegister(uint64_t value) {
    return {static_cast<int8_t>(value & 0xff), static_cast<int8_t>((value >> 8) & 0xff)};
  }
};

inline constexpr const char* kCudaAllocatorHookSymbols[] = {
    "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE",
    "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE",
    "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
    "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE",
    "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_CUDA_ALLOCATOR_HOOKS_H_

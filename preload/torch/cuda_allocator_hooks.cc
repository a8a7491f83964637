#include "preload/torch/cuda_allocator_hooks.h"

#include <errno.h>

#include "preload/base/hook_frame.h"
#include "preload/base/real_symbol.h"
#include "preload/recorder/device_event.h"

namespace plateau {
namespace {

constexpr char kApi[] = "c10::CUDACachingAllocator";

struct Totals {
  uint64_t allocated_bytes;
  uint64_t reserved_bytes;
};

void Report(uint8_t op, const void* pointer, uint64_t bytes, Totals totals, TorchDevice device,
            const void* frame) {
  if (device.type != TorchDevice::kCuda || &plateau_device_event == nullptr) return;
  const int saved_errno = errno;
  struct plateau_device_event event {};
  event.op = op;
  event.level = PLATEAU_LEVEL_TENSOR;
  event.memory = PLATEAU_MEMORY_DEVICE;
  event.device = device.index;
  event.address = reinterpret_cast<uint64_t>(pointer);
  event.bytes = bytes;
  event.total_bytes = totals.allocated_bytes;
  event.reserved_bytes = totals.reserved_bytes;
  event.api = kApi;
  event.frame = frame;
  ::plateau_device_event(&event);
  errno = saved_errno;
}

// torch reports a free as a negative size.
void ReportUsage(const void* pointer, int64_t bytes, Totals totals, uint64_t device, const void* frame) {
  if (bytes == 0) return;
  const bool is_alloc = bytes > 0;
  Report(is_alloc ? PLATEAU_DEVICE_ALLOC : PLATEAU_DEVICE_FREE, pointer,
         static_cast<uint64_t>(is_alloc ? bytes : -bytes), totals, TorchDevice::FromRegister(device), frame);
}

}  // namespace
}  // namespace plateau

using plateau::RealSymbol;

#define PLATEAU_TORCH_HOOK extern "C" __attribute__((visibility("default"), noinline)) void

// Reports, then calls the real function with the same arguments.
#define PLATEAU_TORCH_FORWARD(symbol, type, ...)                                     \
  do {                                                                               \
    static constinit RealSymbol real(#symbol);                                       \
    if (auto* next = real.Get<type>(__builtin_return_address(0))) next(__VA_ARGS__); \
  } while (false)

PLATEAU_TORCH_HOOK _ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE(void* pointer, int64_t bytes,
                                                                       uint64_t device) {
  plateau::ReportUsage(pointer, bytes, {}, device, plateau::HookFrame());
  PLATEAU_TORCH_FORWARD(_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE, void(void*, int64_t, uint64_t),
                        pointer, bytes, device);
}

PLATEAU_TORCH_HOOK _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(void* pointer, int64_t bytes,
                                                                         int64_t allocated, int64_t reserved,
                                                                         uint64_t device) {
  plateau::ReportUsage(pointer, bytes, {static_cast<uint64_t>(allocated), static_cast<uint64_t>(reserved)},
                       device, plateau::HookFrame());
  PLATEAU_TORCH_FORWARD(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE,
                        void(void*, int64_t, int64_t, int64_t, uint64_t), pointer, bytes, allocated, reserved,
                        device);
}

PLATEAU_TORCH_HOOK _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void* pointer, int64_t bytes,
                                                                         uint64_t allocated,
                                                                         uint64_t reserved, uint64_t device) {
  plateau::ReportUsage(pointer, bytes, {allocated, reserved}, device, plateau::HookFrame());
  PLATEAU_TORCH_FORWARD(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE,
                        void(void*, int64_t, uint64_t, uint64_t, uint64_t), pointer, bytes, allocated,
                        reserved, device);
}

PLATEAU_TORCH_HOOK _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE(int64_t bytes, int64_t allocated,
                                                                       int64_t reserved, uint64_t device) {
  plateau::Report(PLATEAU_DEVICE_OOM, nullptr, static_cast<uint64_t>(bytes),
                  {static_cast<uint64_t>(allocated), static_cast<uint64_t>(reserved)},
                  plateau::TorchDevice::FromRegister(device), plateau::HookFrame());
  PLATEAU_TORCH_FORWARD(_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE,
                        void(int64_t, int64_t, int64_t, uint64_t), bytes, allocated, reserved, device);
}

PLATEAU_TORCH_HOOK _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t bytes, uint64_t allocated,
                                                                       uint64_t reserved, uint64_t device) {
  plateau::Report(PLATEAU_DEVICE_OOM, nullptr, static_cast<uint64_t>(bytes), {allocated, reserved},
                  plateau::TorchDevice::FromRegister(device), plateau::HookFrame());
  PLATEAU_TORCH_FORWARD(_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE,
                        void(int64_t, uint64_t, uint64_t, uint64_t), bytes, allocated, reserved, device);
}

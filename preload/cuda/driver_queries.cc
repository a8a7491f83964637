#include "preload/cuda/driver_queries.h"

#include <stddef.h>

#include "preload/base/real_symbol.h"
#include "preload/cuda/cuda_abi.h"
#include "preload/cuda/loader_state.h"

namespace plateau::cuda {
namespace {

constexpr char kDriverLibrary[] = "libcuda.so";

// One function of the loaded libcuda, looked up again after something was unloaded.
template <typename Function>
class DriverFunction {
 public:
  constexpr explicit DriverFunction(const char* name) : name_(name) {}

  Function* Get() {
    const uint64_t unloads = UnloadCount();
    if (void* known = found_.Get(unloads)) return reinterpret_cast<Function*>(known);
    void* found = FindInLibrary(kDriverLibrary, name_);
    if (found != nullptr) found_.Set(found, unloads);
    return reinterpret_cast<Function*>(found);
  }

 private:
  const char* name_;
  UnloadAwarePointer found_;
};

constinit DriverFunction<int(int*)> g_context_device("cuCtxGetDevice");
constinit DriverFunction<int(void**)> g_context_current("cuCtxGetCurrent");
constinit DriverFunction<int(void*)> g_context_set("cuCtxSetCurrent");
constinit DriverFunction<int(int, unsigned*, int*)> g_primary_state("cuDevicePrimaryCtxGetState");
constinit DriverFunction<int(void**, size_t*, const void*)> g_address_range("cuMemGetAddressRange_v2");
constinit DriverFunction<int(void*, int, void*)> g_pool_attribute("cuMemPoolGetAttribute");
constinit DriverFunction<int(void**, int)> g_device_pool("cuDeviceGetMemPool");
constinit DriverFunction<int(size_t*, size_t*)> g_memory_info("cuMemGetInfo_v2");

}  // namespace

CurrentContext QueryCurrentContext() {
  CurrentContext answer;
  int device = -1;
  auto* get_device = g_context_device.Get();
  if (get_device != nullptr && get_device(&device) == kSuccess) answer.device = static_cast<int16_t>(device);
  void* context = nullptr;
  auto* get_current = g_context_current.Get();
  if (get_current != nullptr && get_current(&context) == kSuccess) {
    answer.context = reinterpret_cast<uint64_t>(context);
  }
  return answer;
}

int16_t QueryContextDevice(void* context) {
  auto* get_current = g_context_current.Get();
  auto* set_current = g_context_set.Get();
  auto* get_device = g_context_device.Get();
  if (get_current == nullptr || set_current == nullptr || get_device == nullptr) return -1;
  void* before = nullptr;
  if (get_current(&before) != kSuccess) return -1;
  const bool must_switch = before != context;
  if (must_switch && set_current(context) != kSuccess) return -1;
  int device = -1;
  if (get_device(&device) != kSuccess) device = -1;
  if (must_switch) set_current(before);
  return static_cast<int16_t>(device);
}

bool IsPrimaryContextActive(int device) {
  unsigned flags = 0;
  int active = 1;
  auto* state = g_primary_state.Get();
  return state == nullptr || state(device, &flags, &active) != kSuccess || active != 0;
}

DeviceCapacity QueryCapacity() {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  auto* info = g_memory_info.Get();
  if (info == nullptr || info(&free_bytes, &total_bytes) != kSuccess || free_bytes > total_bytes) return {};
  return {total_bytes, total_bytes - free_bytes};
}

uint64_t QueryAllocationBytes(const void* pointer) {
  void* base = nullptr;
  size_t bytes = 0;
  auto* range = g_address_range.Get();
  return range != nullptr && range(&base, &bytes, pointer) == kSuccess ? bytes : 0;
}

PoolState QueryPool(void* pool) {
  PoolState state;
  auto* attribute = g_pool_attribute.Get();
  state.known = attribute != nullptr && pool != nullptr &&
                attribute(pool, kPoolAttributeReservedCurrent, &state.reserved_bytes) == kSuccess &&
                attribute(pool, kPoolAttributeUsedCurrent, &state.used_bytes) == kSuccess;
  return state;
}

void* QueryDevicePool(int device) {
  void* pool = nullptr;
  auto* get = g_device_pool.Get();
  return get != nullptr && device >= 0 && get(&pool, device) == kSuccess ? pool : nullptr;
}

}  // namespace plateau::cuda

// The questions Plateau itself asks the CUDA driver after a call it has seen: which device, which context,
// how large.
//
// All go to the libcuda that is already loaded, found by name and asked directly, so none of them is seen by
// our own wrappers. They are asked only from within a wrapped call, on the program's own thread, never from
// torch's hooks. Allocates: never. Locks: the loader's list lock, and whatever the driver takes. Throws:
// never. Without a driver, or when it refuses, the answer is the "unknown" value.
#ifndef PLATEAU_PRELOAD_CUDA_DRIVER_QUERIES_H_
#define PLATEAU_PRELOAD_CUDA_DRIVER_QUERIES_H_

#include <stdint.h>

namespace plateau::cuda {

struct CurrentContext {
  int16_t device = -1;
  uint64_t context = 0;
};
CurrentContext QueryCurrentContext();

// The context's device, -1 if unknown.
int16_t QueryContextDevice(void* context);

// False only when the driver says that the device's primary context is gone.
bool IsPrimaryContextActive(int device);

// The memory of the current context's device and what of it is in use, by all processes; 0 and 0 if unknown.
struct DeviceCapacity {
  uint64_t total_bytes = 0;
  uint64_t used_bytes = 0;
};
DeviceCapacity QueryCapacity();

// Size of the allocation that contains `pointer`, 0 if unknown.
uint64_t QueryAllocationBytes(const void* pointer);

struct PoolState {
  bool known = false;
  uint64_t reserved_bytes = 0;
  uint64_t used_bytes = 0;
};
PoolState QueryPool(void* pool);

// The pool that stream-ordered allocations of `device` come from, null if unknown.
void* QueryDevicePool(int device);

}  // namespace plateau::cuda

#endif  // PLATEAU_PRELOAD_CUDA_DRIVER_QUERIES_H_

// The internal C ABI by which libplateau_cuda.so hands device-memory events to libplateau.so.
//
// libplateau.so exports plateau_device_event(); the CUDA shim finds it by a weak reference, so either library
// may be loaded alone. The call captures the caller's stack, never calls CUDA or torch, takes no lock that is
// held while calling either, and leaves errno alone. Not public: both sides are always of the same version.
#ifndef PLATEAU_PRELOAD_RECORDER_DEVICE_EVENT_H_
#define PLATEAU_PRELOAD_RECORDER_DEVICE_EVENT_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What happened. The numbers are those of trace::DeviceOp.
enum plateau_device_op {
  PLATEAU_DEVICE_ALLOC = 1,    // address, bytes
  PLATEAU_DEVICE_FREE = 2,     // address; recorded before the real call
  PLATEAU_DEVICE_OOM = 3,      // bytes asked for and refused; runtime and driver: total_bytes = in use on the
                               // device by all processes, reserved_bytes = its memory
  PLATEAU_DEVICE_RESERVE = 4,  // VMM address space: address, bytes
  PLATEAU_DEVICE_UNRESERVE = 5,  // address, bytes
  PLATEAU_DEVICE_CREATE = 6,     // VMM physical memory: handle, bytes
  PLATEAU_DEVICE_RELEASE = 7,    // one reference to handle given up
  PLATEAU_DEVICE_MAP = 8,        // handle mapped at address, bytes
  PLATEAU_DEVICE_UNMAP = 9,      // address, bytes
  PLATEAU_DEVICE_RETAIN = 10,    // one more reference to handle
  PLATEAU_DEVICE_RESET = 11,     // context or device gone: everything of `device` is freed
  PLATEAU_DEVICE_CAPTURE = 12,   // CUDA graph capture begins (bytes = 1) or ends (bytes = 0) on this thread
  PLATEAU_DEVICE_POOL = 13,      // memory pool state: handle, bytes = reserved, total_bytes = used
};

// Who saw it. The numbers are those of trace::DeviceLevel.
enum plateau_device_level {
  PLATEAU_LEVEL_RUNTIME = 1,  // cuda* of a libcudart
  PLATEAU_LEVEL_DRIVER = 2,   // cu* not nested in a wrapped runtime call
  PLATEAU_LEVEL_TENSOR = 3,   // a block of torch's caching allocator, inside a segment of the levels above
};

// Which memory it is. The numbers are those of trace::DeviceMemory.
enum plateau_device_memory {
  PLATEAU_MEMORY_DEVICE = 1,
  PLATEAU_MEMORY_PINNED = 2,  // cudaHostAlloc and friends
  // Host memory that malloc showed us already and that was pinned afterwards: it is not counted again.
  PLATEAU_MEMORY_REGISTERED = 3,
  PLATEAU_MEMORY_MANAGED = 4,
  PLATEAU_MEMORY_ARRAY = 5,
  PLATEAU_MEMORY_ASYNC = 6,     // stream-ordered, from a pool
  PLATEAU_MEMORY_IMPORTED = 7,  // IPC or external: another owner pays for it
};

struct plateau_device_event {
  uint8_t op;
  uint8_t level;
  uint8_t memory;
  uint8_t graph;   // 1 while a CUDA graph is being captured
  int16_t device;  // -1 when unknown
  uint16_t reserved;
  uint64_t address;
  uint64_t bytes;
  uint64_t handle;
  uint64_t total_bytes;     // what the source says is allocated in all; 0 when it says nothing
  uint64_t reserved_bytes;  // what the source says is reserved in all
  const char* api;          // static string, e.g. "cudaMalloc"
  const void* frame;        // the hook's HookFrame(); the stack starts at its caller
};

// The struct and the function share a name, as in stat(2); C++ code writes `struct plateau_device_event`.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
__attribute__((weak, visibility("default"))) void plateau_device_event(
    const struct plateau_device_event* event);
#pragma GCC diagnostic pop

#ifdef __cplusplus
}
#endif

#endif  // PLATEAU_PRELOAD_RECORDER_DEVICE_EVENT_H_

// The few CUDA structures and numbers that the wrappers read, declared here because the shim is built without
// CUDA's headers. Layouts are those documented for CUDA 11 to 13 on 64-bit Linux and are checked below.
// Pointers to anything else are passed on unread.
#ifndef PLATEAU_PRELOAD_CUDA_CUDA_ABI_H_
#define PLATEAU_PRELOAD_CUDA_CUDA_ABI_H_

#include <stddef.h>
#include <stdint.h>

namespace plateau::cuda {

// Results. Runtime and driver agree on the first two.
inline constexpr int kSuccess = 0;
inline constexpr int kOutOfMemory = 2;
// What a program gets that finds our exported names on a machine without CUDA.
inline constexpr int kRuntimeInsufficientDriver = 35;
inline constexpr int kDriverNoDevice = 100;

struct Extent {
  size_t width, height, depth;
};

struct PitchedPointer {
  void* pointer;
  size_t pitch_bytes, width, height;
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
  unsigned channels;
  unsigned flags;
};

struct MemoryLocation {
  static constexpr int kDevice = 1;  // anything above is a kind of host memory
  int type;
  int id;
};

struct AllocationProperties {
  int type;
  int handle_types;
  MemoryLocation location;
};

struct PoolProperties {
  int type;
  int handle_types;
  MemoryLocation location;
  void* security_attributes;
  size_t max_bytes;
  unsigned char reserved[56];
};
static_assert(sizeof(PoolProperties) == 88);

struct GraphAllocParameters {
  PoolProperties pool;
  const void* access;
  size_t access_count;
  size_t bytes;
  void* pointer;
};
static_assert(offsetof(GraphAllocParameters, bytes) == 104);

struct ExternalBufferDescriptor {
  uint64_t offset, bytes;
  unsigned flags;
};

struct IpcHandle {
  char bytes[64];
};

inline constexpr int kPoolAttributeReservedCurrent = 5;
inline constexpr int kPoolAttributeUsedCurrent = 7;

inline constexpr int kCaptureModeGlobal = 0;

// Bytes of one channel of a driver array format; 1 for the video formats, whose layout is the driver's own.
constexpr unsigned FormatBytes(int format) {
  switch (format) {
    case 0x02:  // unsigned 16
    case 0x09:  // signed 16
    case 0x10:  // half
      return 2;
    case 0x03:  // unsigned 32
    case 0x0a:  // signed 32
    case 0x20:  // float
      return 4;
    default:
      return 1;
  }
}

}  // namespace plateau::cuda

#endif  // PLATEAU_PRELOAD_CUDA_CUDA_ABI_H_

// The memory half of the null libcudart: every call goes to the driver, which is where allocation happens.
#include <string.h>

#include "tests/nulldevice/null_runtime.h"

using namespace nulldevice;

namespace {
using AllocType = int(void**, size_t);
using AllocFlagsType = int(void**, size_t, unsigned);
using AllocStreamType = int(void**, size_t, void*);
using AllocFromPoolType = int(void**, size_t, void*, void*);
using FreeType = int(void*);
using FreeStreamType = int(void*, void*);

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
struct Array3DDescriptor {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};
struct IpcHandle {
  char bytes[64];
};

// Floats with as many channels as the format has; the null device does not look closer.
Array3DDescriptor Describe(const ChannelFormat& format, Extent extent) {
  unsigned channels = 0;
  for (int bits : format.bits) channels += bits > 0 ? 1 : 0;
  return {extent.width, extent.height, extent.depth, 0x20, channels, 0};
}
}  // namespace

NULL_EXPORT int cudaMalloc(void** pointer, size_t bytes) {
  EnsureContext();
  if (pointer == nullptr) return Remember(1);
  *pointer = nullptr;
  return bytes == 0 ? 0 : Remember(NULL_DRIVER(AllocType, "cuMemAlloc", pointer, bytes));
}
NULL_EXPORT int cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  EnsureContext();
  using Type = int(void**, size_t*, size_t, size_t, unsigned);
  return Remember(NULL_DRIVER(Type, "cuMemAllocPitch", pointer, pitch, width, height, 4));
}
NULL_EXPORT int cudaMalloc3D(PitchedPointer* pointer, Extent extent) {
  *pointer = {nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&pointer->pointer, &pointer->pitch, extent.width, extent.height * extent.depth);
}
NULL_EXPORT int cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  EnsureContext();
  return Remember(NULL_DRIVER(AllocFlagsType, "cuMemAllocManaged", pointer, bytes, flags));
}
NULL_EXPORT int cudaFree(void* pointer) {
  EnsureContext();
  return pointer == nullptr ? 0 : Remember(NULL_DRIVER(FreeType, "cuMemFree", pointer));
}
NULL_EXPORT int cudaMalloc3DArray(void** array, const ChannelFormat* format, Extent extent, unsigned) {
  EnsureContext();
  using Type = int(void**, const Array3DDescriptor*);
  const Array3DDescriptor descriptor = Describe(*format, extent);
  return Remember(NULL_DRIVER(Type, "cuArray3DCreate", array, &descriptor));
}
NULL_EXPORT int cudaMallocArray(void** array, const ChannelFormat* format, size_t width, size_t height,
                                unsigned flags) {
  return cudaMalloc3DArray(array, format, {width, height, 0}, flags);
}
NULL_EXPORT int cudaMallocMipmappedArray(void** array, const ChannelFormat* format, Extent extent,
                                         unsigned levels, unsigned) {
  EnsureContext();
  using Type = int(void**, const Array3DDescriptor*, unsigned);
  const Array3DDescriptor descriptor = Describe(*format, extent);
  return Remember(NULL_DRIVER(Type, "cuMipmappedArrayCreate", array, &descriptor, levels));
}
NULL_EXPORT int cudaFreeArray(void* array) {
  return Remember(NULL_DRIVER(FreeType, "cuArrayDestroy", array));
}
NULL_EXPORT int cudaFreeMipmappedArray(void* array) {
  return Remember(NULL_DRIVER(FreeType, "cuMipmappedArrayDestroy", array));
}

// ---- Host memory ----
NULL_EXPORT int cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  EnsureContext();
  return Remember(NULL_DRIVER(AllocFlagsType, "cuMemHostAlloc", pointer, bytes, flags));
}
NULL_EXPORT int cudaMallocHost(void** pointer, size_t bytes) { return cudaHostAlloc(pointer, bytes, 0); }
NULL_EXPORT int cudaFreeHost(void* pointer) {
  return pointer == nullptr ? 0 : Remember(NULL_DRIVER(FreeType, "cuMemFreeHost", pointer));
}
NULL_EXPORT int cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  EnsureContext();
  using Type = int(void*, size_t, unsigned);
  return Remember(NULL_DRIVER(Type, "cuMemHostRegister", pointer, bytes, flags));
}
NULL_EXPORT int cudaHostUnregister(void* pointer) {
  return Remember(NULL_DRIVER(FreeType, "cuMemHostUnregister", pointer));
}
NULL_EXPORT int cudaHostGetDevicePointer(void** device, void* host, unsigned) { return *device = host, 0; }

// ---- Stream-ordered memory, default and per-thread streams ----
NULL_EXPORT int cudaMallocAsync(void** pointer, size_t bytes, void* stream) {
  EnsureContext();
  return Remember(NULL_DRIVER(AllocStreamType, "cuMemAllocAsync", pointer, bytes, stream));
}
NULL_EXPORT int cudaMallocFromPoolAsync(void** pointer, size_t bytes, void* pool, void* stream) {
  EnsureContext();
  return Remember(NULL_DRIVER(AllocFromPoolType, "cuMemAllocFromPoolAsync", pointer, bytes, pool, stream));
}
NULL_EXPORT int cudaFreeAsync(void* pointer, void* stream) {
  EnsureContext();
  return Remember(NULL_DRIVER(FreeStreamType, "cuMemFreeAsync", pointer, stream));
}
NULL_EXPORT int cudaMallocAsync_ptsz(void** pointer, size_t bytes, void* stream) {
  EnsureContext();
  static auto* function =
      reinterpret_cast<AllocStreamType*>(DriverFunction("cuMemAllocAsync", kPerThreadStream));
  return Remember(function(pointer, bytes, stream));
}
NULL_EXPORT int cudaMallocFromPoolAsync_ptsz(void** pointer, size_t bytes, void* pool, void* stream) {
  EnsureContext();
  static auto* function =
      reinterpret_cast<AllocFromPoolType*>(DriverFunction("cuMemAllocFromPoolAsync", kPerThreadStream));
  return Remember(function(pointer, bytes, pool, stream));
}
NULL_EXPORT int cudaFreeAsync_ptsz(void* pointer, void* stream) {
  EnsureContext();
  static auto* function =
      reinterpret_cast<FreeStreamType*>(DriverFunction("cuMemFreeAsync", kPerThreadStream));
  return Remember(function(pointer, stream));
}
NULL_EXPORT int cudaMemPoolCreate(void** pool, const void* properties) {
  EnsureContext();
  using Type = int(void**, const void*);
  return Remember(NULL_DRIVER(Type, "cuMemPoolCreate", pool, properties));
}
NULL_EXPORT int cudaMemPoolDestroy(void* pool) {
  return Remember(NULL_DRIVER(FreeType, "cuMemPoolDestroy", pool));
}
NULL_EXPORT int cudaMemPoolTrimTo(void* pool, size_t keep_bytes) {
  using Type = int(void*, size_t);
  return Remember(NULL_DRIVER(Type, "cuMemPoolTrimTo", pool, keep_bytes));
}
NULL_EXPORT int cudaMemPoolGetAttribute(void* pool, int attribute, void* value) {
  using Type = int(void*, int, void*);
  return Remember(NULL_DRIVER(Type, "cuMemPoolGetAttribute", pool, attribute, value));
}
NULL_EXPORT int cudaDeviceGetDefaultMemPool(void** pool, int device) {
  using Type = int(void**, int);
  return Remember(NULL_DRIVER(Type, "cuDeviceGetDefaultMemPool", pool, device));
}
NULL_EXPORT int cudaMemPoolExportPointer(void** data, void* pointer) { return *data = pointer, 0; }
NULL_EXPORT int cudaMemPoolImportPointer(void** pointer, void* pool, void* data) {
  EnsureContext();
  using Type = int(void**, void*, void*);
  return Remember(NULL_DRIVER(Type, "cuMemPoolImportPointer", pointer, pool, data));
}

// ---- Other owners' memory ----
NULL_EXPORT int cudaIpcGetMemHandle(IpcHandle* handle, void* pointer) {
  return memcpy(handle->bytes, &pointer, sizeof pointer), 0;
}
NULL_EXPORT int cudaIpcOpenMemHandle(void** pointer, IpcHandle handle, unsigned flags) {
  EnsureContext();
  using Type = int(void**, IpcHandle, unsigned);
  return Remember(NULL_DRIVER(Type, "cuIpcOpenMemHandle", pointer, handle, flags));
}
NULL_EXPORT int cudaIpcCloseMemHandle(void* pointer) {
  return Remember(NULL_DRIVER(FreeType, "cuIpcCloseMemHandle", pointer));
}
NULL_EXPORT int cudaExternalMemoryGetMappedBuffer(void** pointer, void* memory, const void* descriptor) {
  EnsureContext();
  using Type = int(void**, void*, const void*);
  return Remember(NULL_DRIVER(Type, "cuExternalMemoryGetMappedBuffer", pointer, memory, descriptor));
}

// ---- Graph memory nodes ----
NULL_EXPORT int cudaGraphAddMemAllocNode(void** node, void* graph, void* const* after, size_t count,
                                         void* parameters) {
  EnsureContext();
  using Type = int(void**, void*, void* const*, size_t, void*);
  return Remember(NULL_DRIVER(Type, "cuGraphAddMemAllocNode", node, graph, after, count, parameters));
}
NULL_EXPORT int cudaGraphAddMemFreeNode(void** node, void* graph, void* const* after, size_t count,
                                        void* pointer) {
  using Type = int(void**, void*, void* const*, size_t, void*);
  return Remember(NULL_DRIVER(Type, "cuGraphAddMemFreeNode", node, graph, after, count, pointer));
}

// ---- Questions and copies ----
NULL_EXPORT int cudaMemGetInfo(size_t* free, size_t* total) {
  EnsureContext();
  using Type = int(size_t*, size_t*);
  return Remember(NULL_DRIVER(Type, "cuMemGetInfo", free, total));
}
struct PointerAttributes {
  int type, device;
  const void* device_pointer;
  const void* host_pointer;
};
NULL_EXPORT int cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  EnsureContext();
  using Type = int(void*, int, const void*);
  unsigned type = 0;
  int device = 0;
  *attributes = {0, -2, nullptr, pointer};
  if (NULL_DRIVER(Type, "cuPointerGetAttribute", &type, 2, pointer) != 0) return 0;
  if (NULL_DRIVER(Type, "cuPointerGetAttribute", &device, 9, pointer) != 0) return 0;
  *attributes = {static_cast<int>(type), device, pointer, type == 1 ? pointer : nullptr};
  return 0;
}
NULL_EXPORT int cudaMemcpy(void* to, const void* from, size_t bytes, int) {
  return memmove(to, from, bytes), 0;
}
NULL_EXPORT int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int, void*) {
  return memmove(to, from, bytes), 0;
}
NULL_EXPORT int cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, void*) {
  return memmove(to, from, bytes), 0;
}
NULL_EXPORT int cudaMemset(void* to, int value, size_t bytes) { return memset(to, value, bytes), 0; }
NULL_EXPORT int cudaMemsetAsync(void* to, int value, size_t bytes, void*) {
  return memset(to, value, bytes), 0;
}

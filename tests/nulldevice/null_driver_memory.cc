// The memory half of the null device's libcuda.so.1, over null_memory.h.
#include <string.h>
#include <sys/mman.h>

#include "tests/nulldevice/null_driver.h"

using namespace nulldevice;

namespace {

Range RangeOf(Kind kind) {
  void* context = CurrentContext();
  return {0, kind, DeviceOf(context), reinterpret_cast<uintptr_t>(context), 0};
}

int Allocate(const char* api, void** pointer, size_t bytes, Range range) {
  uintptr_t address = 0;
  const int result = Memory::Get().Allocate(&address, bytes, range);
  if (result == kSuccess) *pointer = reinterpret_cast<void*>(address);
  Log("%s %zu -> %p result %d", api, bytes, result == kSuccess ? *pointer : nullptr, result);
  return result;
}

int Release(const char* api, const void* pointer, const Kind* kind) {
  const int result = Memory::Get().Release(reinterpret_cast<uintptr_t>(pointer), kind);
  Log("%s %p result %d", api, pointer, result);
  return result;
}

int ReleaseKind(const char* api, const void* pointer, Kind kind) { return Release(api, pointer, &kind); }

int AllocateFromPool(const char* api, void** pointer, size_t bytes, void* pool) {
  Range range = RangeOf(Kind::kPool);
  range.pool = pool != nullptr ? reinterpret_cast<uintptr_t>(pool) : Memory::Get().DefaultPool(range.device);
  return Allocate(api, pointer, bytes, range);
}

struct ArrayShape {
  size_t width, height, depth;
  int format;
  unsigned channels;
};

int AllocateArray(const char* api, void** array, const ArrayShape& shape) {
  const size_t rows = (shape.height == 0 ? 1 : shape.height) * (shape.depth == 0 ? 1 : shape.depth);
  return Allocate(api, array, shape.width * rows * 4 * shape.channels, RangeOf(Kind::kArray));
}

}  // namespace

// ---- Linear, host and managed memory ----
NULL_EXPORT int cuMemAlloc_v2(void** pointer, size_t bytes) {
  return Allocate("cuMemAlloc", pointer, bytes, RangeOf(Kind::kDevice));
}
// The ABI of CUDA 2: 32-bit pointers, never any use here.
NULL_EXPORT int cuMemAlloc(unsigned*, unsigned) { return kInvalidValue; }
NULL_EXPORT int cuMemAllocPitch_v2(void** pointer, size_t* pitch, size_t width, size_t height, unsigned) {
  *pitch = (width + 511) / 512 * 512;
  return Allocate("cuMemAllocPitch", pointer, *pitch * height, RangeOf(Kind::kDevice));
}
NULL_EXPORT int cuMemAllocManaged(void** pointer, size_t bytes, unsigned) {
  return Allocate("cuMemAllocManaged", pointer, bytes, RangeOf(Kind::kManaged));
}
NULL_EXPORT int cuMemFree_v2(void* pointer) { return Release("cuMemFree", pointer, nullptr); }
NULL_EXPORT int cuMemAllocHost_v2(void** pointer, size_t bytes) {
  return Allocate("cuMemAllocHost", pointer, bytes, RangeOf(Kind::kHost));
}
NULL_EXPORT int cuMemHostAlloc(void** pointer, size_t bytes, unsigned) {
  return Allocate("cuMemHostAlloc", pointer, bytes, RangeOf(Kind::kHost));
}
NULL_EXPORT int cuMemFreeHost(void* pointer) { return ReleaseKind("cuMemFreeHost", pointer, Kind::kHost); }
NULL_EXPORT int cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned) {
  Range range = RangeOf(Kind::kRegistered);
  range.bytes = bytes;
  return Memory::Get().Register(reinterpret_cast<uintptr_t>(pointer), range);
}
NULL_EXPORT int cuMemHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(pointer, bytes, flags);
}
NULL_EXPORT int cuMemHostUnregister(void* pointer) {
  return ReleaseKind("cuMemHostUnregister", pointer, Kind::kRegistered);
}
NULL_EXPORT int cuMemHostGetDevicePointer_v2(void** device, void* host, unsigned) {
  return *device = host, kSuccess;
}
NULL_EXPORT int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = Memory::Get().FreeBytes(DeviceOf(CurrentContext()));
  *total = Setting("NULLDEVICE_BYTES", size_t{16} << 30);
  return kSuccess;
}
NULL_EXPORT int cuMemGetAddressRange_v2(void** base, size_t* bytes, void* pointer) {
  uintptr_t start = 0;
  Range range;
  if (!Memory::Get().Find(reinterpret_cast<uintptr_t>(pointer), &start, &range)) return kInvalidValue;
  if (base != nullptr) *base = reinterpret_cast<void*>(start);
  if (bytes != nullptr) *bytes = range.bytes;
  return kSuccess;
}
NULL_EXPORT int cuPointerGetAttribute(void* value, int attribute, void* pointer) {
  uintptr_t start = 0;
  Range range;
  if (!Memory::Get().Find(reinterpret_cast<uintptr_t>(pointer), &start, &range)) return kInvalidValue;
  const bool is_host = range.kind == Kind::kHost || range.kind == Kind::kRegistered;
  switch (attribute) {
    case 2:  // memory type
      return *static_cast<unsigned*>(value) = is_host ? 1 : 2, kSuccess;
    case 8:  // managed
      return *static_cast<unsigned*>(value) = range.kind == Kind::kManaged, kSuccess;
    case 9:  // device
      return *static_cast<int*>(value) = range.device, kSuccess;
    default:
      return kInvalidValue;
  }
}

// ---- Arrays ----
NULL_EXPORT int cuArrayCreate_v2(void** array, const void* descriptor) {
  struct {
    size_t width, height;
    int format;
    unsigned channels;
  } shape;
  memcpy(&shape, descriptor, sizeof shape);
  return AllocateArray("cuArrayCreate", array, {shape.width, shape.height, 1, shape.format, shape.channels});
}
NULL_EXPORT int cuArray3DCreate_v2(void** array, const ArrayShape* shape) {
  return AllocateArray("cuArray3DCreate", array, *shape);
}
NULL_EXPORT int cuMipmappedArrayCreate(void** array, const ArrayShape* shape, unsigned) {
  return AllocateArray("cuMipmappedArrayCreate", array, *shape);
}
NULL_EXPORT int cuArrayDestroy(void* array) { return ReleaseKind("cuArrayDestroy", array, Kind::kArray); }
NULL_EXPORT int cuMipmappedArrayDestroy(void* array) {
  return ReleaseKind("cuMipmappedArrayDestroy", array, Kind::kArray);
}

// ---- Stream-ordered memory and pools ----
NULL_EXPORT int cuMemAllocAsync(void** pointer, size_t bytes, void*) {
  return AllocateFromPool("cuMemAllocAsync", pointer, bytes, nullptr);
}
NULL_EXPORT int cuMemAllocAsync_ptsz(void** pointer, size_t bytes, void*) {
  return AllocateFromPool("cuMemAllocAsync_ptsz", pointer, bytes, nullptr);
}
NULL_EXPORT int cuMemAllocFromPoolAsync(void** pointer, size_t bytes, void* pool, void*) {
  return AllocateFromPool("cuMemAllocFromPoolAsync", pointer, bytes, pool);
}
NULL_EXPORT int cuMemAllocFromPoolAsync_ptsz(void** pointer, size_t bytes, void* pool, void*) {
  return AllocateFromPool("cuMemAllocFromPoolAsync_ptsz", pointer, bytes, pool);
}
NULL_EXPORT int cuMemFreeAsync(void* pointer, void*) { return Release("cuMemFreeAsync", pointer, nullptr); }
NULL_EXPORT int cuMemFreeAsync_ptsz(void* pointer, void*) {
  return Release("cuMemFreeAsync_ptsz", pointer, nullptr);
}
NULL_EXPORT int cuDeviceGetDefaultMemPool(void** pool, int device) {
  return *pool = reinterpret_cast<void*>(Memory::Get().DefaultPool(device)), kSuccess;
}
NULL_EXPORT int cuDeviceGetMemPool(void** pool, int device) {
  return cuDeviceGetDefaultMemPool(pool, device);
}
NULL_EXPORT int cuMemPoolCreate(void** pool, const int* properties) {
  return *pool = reinterpret_cast<void*>(Memory::Get().CreatePool(properties[3])), kSuccess;
}
NULL_EXPORT int cuMemPoolDestroy(void* pool) {
  return Memory::Get().DestroyPool(reinterpret_cast<uintptr_t>(pool));
}
NULL_EXPORT int cuMemPoolTrimTo(void* pool, size_t keep_bytes) {
  return Memory::Get().TrimPool(reinterpret_cast<uintptr_t>(pool), keep_bytes);
}
NULL_EXPORT int cuMemPoolSetAttribute(void*, int, void*) { return kSuccess; }
NULL_EXPORT int cuMemPoolGetAttribute(void* pool, int attribute, uint64_t* value) {
  Pool state;
  if (!Memory::Get().FindPool(reinterpret_cast<uintptr_t>(pool), &state)) return kInvalidValue;
  *value = attribute == 5 || attribute == 6 ? state.reserved_bytes : attribute >= 7 ? state.used_bytes : 0;
  return kSuccess;
}

// ---- Memory of other owners: an import is a fresh range of the exported one's size ----
namespace {
int Import(const char* api, void** pointer, const void* exported) {
  uintptr_t start = 0;
  Range range;
  if (!Memory::Get().Find(reinterpret_cast<uintptr_t>(exported), &start, &range)) return kInvalidValue;
  return Allocate(api, pointer, range.bytes, RangeOf(Kind::kImported));
}
}  // namespace
struct IpcHandle {
  void* pointer;
  char reserved[56];
};
NULL_EXPORT int cuIpcGetMemHandle(IpcHandle* handle, void* pointer) {
  return handle->pointer = pointer, kSuccess;
}
NULL_EXPORT int cuIpcOpenMemHandle_v2(void** pointer, IpcHandle handle, unsigned) {
  return Import("cuIpcOpenMemHandle", pointer, handle.pointer);
}
NULL_EXPORT int cuIpcOpenMemHandle(void** pointer, IpcHandle handle, unsigned flags) {
  return cuIpcOpenMemHandle_v2(pointer, handle, flags);
}
NULL_EXPORT int cuIpcCloseMemHandle(void* pointer) {
  return ReleaseKind("cuIpcCloseMemHandle", pointer, Kind::kImported);
}
NULL_EXPORT int cuMemPoolExportPointer(void** data, void* pointer) { return *data = pointer, kSuccess; }
NULL_EXPORT int cuMemPoolImportPointer(void** pointer, void*, void** data) {
  return Import("cuMemPoolImportPointer", pointer, *data);
}
NULL_EXPORT int cuExternalMemoryGetMappedBuffer(void** pointer, void*, const uint64_t* descriptor) {
  return Allocate("cuExternalMemoryGetMappedBuffer", pointer, descriptor[1], RangeOf(Kind::kImported));
}

// ---- Virtual memory management ----
NULL_EXPORT int cuMemGetAllocationGranularity(size_t* bytes, const void*, int) {
  return *bytes = size_t{2} << 20, kSuccess;
}
NULL_EXPORT int cuMemCreate(uint64_t* handle, size_t bytes, const int* properties, uint64_t) {
  const int result = Memory::Get().Create(handle, bytes, properties[2] == 1 ? properties[3] : 0);
  Log("cuMemCreate %zu result %d", bytes, result);
  return result;
}
NULL_EXPORT int cuMemRelease(uint64_t handle) { return Memory::Get().DropReference(handle); }
NULL_EXPORT int cuMemRetainAllocationHandle(uint64_t* handle, void* address) {
  if (!Memory::Get().FindMapping(reinterpret_cast<uintptr_t>(address), handle)) return kInvalidValue;
  return Memory::Get().AddReference(*handle);
}
NULL_EXPORT int cuMemExportToShareableHandle(uint64_t* out, uint64_t handle, int, uint64_t) {
  return *out = handle, kSuccess;
}
NULL_EXPORT int cuMemImportFromShareableHandle(uint64_t* handle, uint64_t exported, int) {
  return *handle = exported, Memory::Get().AddReference(exported);
}
NULL_EXPORT int cuMemMap(uintptr_t address, size_t bytes, size_t, uint64_t handle, uint64_t) {
  return Memory::Get().Map(address, bytes, handle);
}
NULL_EXPORT int cuMemUnmap(uintptr_t address, size_t bytes) { return Memory::Get().Unmap(address, bytes); }
NULL_EXPORT int cuMemSetAccess(void*, size_t, const void*, size_t) { return kSuccess; }
NULL_EXPORT int cuMemAddressReserve(void** address, size_t bytes, size_t, void*, uint64_t) {
  constexpr size_t kAlignment = size_t{2} << 20;
  void* pages = MapPages(bytes + kAlignment, PROT_NONE);
  if (pages == nullptr) return kOutOfMemory;
  const auto start = (reinterpret_cast<uintptr_t>(pages) + kAlignment - 1) / kAlignment * kAlignment;
  return *address = reinterpret_cast<void*>(start), kSuccess;
}
NULL_EXPORT int cuMemAddressFree(void* address, size_t bytes) { return UnmapPages(address, bytes), kSuccess; }

// ---- Graph memory nodes ----
struct GraphAllocParameters {
  char pool_and_access[104];
  size_t bytes;
  void* pointer;
};
NULL_EXPORT int cuGraphAddMemAllocNode(void** node, void*, void* const*, size_t,
                                       GraphAllocParameters* parameters) {
  *node = NewObject();
  return AllocateFromPool("cuGraphAddMemAllocNode", &parameters->pointer, parameters->bytes, nullptr);
}
NULL_EXPORT int cuGraphAddMemFreeNode(void** node, void*, void* const*, size_t, void* pointer) {
  *node = NewObject();
  return Release("cuGraphAddMemFreeNode", pointer, nullptr);
}

// ---- Copies ----
NULL_EXPORT int cuMemcpy(void* to, void* from, size_t bytes) { return memmove(to, from, bytes), kSuccess; }
NULL_EXPORT int cuMemcpyAsync(void* to, void* from, size_t bytes, void*) {
  return memmove(to, from, bytes), kSuccess;
}
NULL_EXPORT int cuMemcpyHtoD_v2(void* to, const void* from, size_t bytes) {
  return memmove(to, from, bytes), kSuccess;
}
NULL_EXPORT int cuMemcpyDtoH_v2(void* to, void* from, size_t bytes) {
  return memmove(to, from, bytes), kSuccess;
}
NULL_EXPORT int cuMemsetD8_v2(void* to, unsigned char value, size_t bytes) {
  return memset(to, value, bytes), kSuccess;
}

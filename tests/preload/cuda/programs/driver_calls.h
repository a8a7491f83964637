// Every wrapped driver call once, in an order the test knows (cuda_calls_test.cc, kDriverEvents).
#ifndef PLATEAU_TESTS_PRELOAD_CUDA_PROGRAMS_DRIVER_CALLS_H_
#define PLATEAU_TESTS_PRELOAD_CUDA_PROGRAMS_DRIVER_CALLS_H_

#include "tests/preload/cuda/programs/program.h"

// `by_export` when names lead to exactly that export (PLT, dlsym): then old and per-thread names are called
// too.
inline void RunDriverCalls(Finder find, bool by_export) {
  using Alloc = int(void**, size_t);
  using AllocFlags = int(void**, size_t, unsigned);
  using AllocStream = int(void**, size_t, void*);
  using AllocFromPool = int(void**, size_t, void*, void*);
  using Free = int(void*);
  using FreeStream = int(void*, void*);
  using Init = int(unsigned);
  using OfDevice = int(int);
  using Retain = int(void**, int);
  void* p = nullptr;
  void* q = nullptr;
  void* primary = nullptr;
  CALL(find, "cuInit", Init, 0);
  CALL(find, "cuDevicePrimaryCtxRetain", Retain, &primary, 0);
  CALL(find, "cuCtxSetCurrent", Free, primary);

  // Linear.
  CALL(find, "cuMemAlloc_v2", Alloc, &p, 10001);
  CALL(find, "cuMemFree_v2", Free, p);
  size_t pitch = 0;
  using Pitch = int(void**, size_t*, size_t, size_t, unsigned);
  CALL(find, "cuMemAllocPitch_v2", Pitch, &p, &pitch, 1000, 3, 4);
  CALL(find, "cuMemFree_v2", Free, p);
  CALL(find, "cuMemAllocManaged", AllocFlags, &p, 10002, 1);
  CALL(find, "cuMemFree_v2", Free, p);

  // Arrays.
  const ArrayDescriptor flat{64, 32, 0x20, 1};
  const Array3DDescriptor deep{16, 8, 5, 0x20, 4, 0};
  const Array3DDescriptor levels{16, 16, 0, 0x20, 1, 0};
  using Array = int(void**, const ArrayDescriptor*);
  using Array3D = int(void**, const Array3DDescriptor*);
  using Mipmapped = int(void**, const Array3DDescriptor*, unsigned);
  CALL(find, "cuArrayCreate_v2", Array, &p, &flat);
  CALL(find, "cuArrayDestroy", Free, p);
  CALL(find, "cuArray3DCreate_v2", Array3D, &p, &deep);
  CALL(find, "cuArrayDestroy", Free, p);
  CALL(find, "cuMipmappedArrayCreate", Mipmapped, &p, &levels, 3);
  CALL(find, "cuMipmappedArrayDestroy", Free, p);

  // Host.
  CALL(find, "cuMemAllocHost_v2", Alloc, &p, 10003);
  CALL(find, "cuMemFreeHost", Free, p);
  CALL(find, "cuMemHostAlloc", AllocFlags, &p, 10004, 0);
  CALL(find, "cuMemFreeHost", Free, p);
  static char registered[10005];
  using Register = int(void*, size_t, unsigned);
  CALL(find, "cuMemHostRegister_v2", Register, registered, sizeof registered, 0);
  CALL(find, "cuMemHostUnregister", Free, registered);

  // Stream-ordered.
  CALL(find, "cuMemAllocAsync", AllocStream, &p, 10006, nullptr);
  CALL(find, "cuMemFreeAsync", FreeStream, p, nullptr);
  void* pool = nullptr;
  const PoolProperties properties{1, 0, 1, 0, {}};
  using PoolCreate = int(void**, const PoolProperties*);
  using PoolTrim = int(void*, size_t);
  CALL(find, "cuMemPoolCreate", PoolCreate, &pool, &properties);
  CALL(find, "cuMemAllocFromPoolAsync", AllocFromPool, &p, 10008, pool, nullptr);
  CALL(find, "cuMemFreeAsync", FreeStream, p, nullptr);
  CALL(find, "cuMemPoolTrimTo", PoolTrim, pool, 0);

  // Other owners' memory.
  CALL(find, "cuMemAlloc_v2", Alloc, &q, 10010);
  void* exported = q;
  using PoolImport = int(void**, void*, void**);
  CALL(find, "cuMemPoolImportPointer", PoolImport, &p, pool, &exported);
  CALL(find, "cuMemFree_v2", Free, p);
  CALL(find, "cuMemPoolDestroy", Free, pool);
  IpcHandle ipc{};
  *reinterpret_cast<void**>(ipc.bytes) = q;
  using IpcOpen = int(void**, IpcHandle, unsigned);
  CALL(find, "cuIpcOpenMemHandle_v2", IpcOpen, &p, ipc, 1);
  CALL(find, "cuIpcCloseMemHandle", Free, p);
  const ExternalBuffer external{0, 10012, 0};
  using External = int(void**, void*, const ExternalBuffer*);
  CALL(find, "cuExternalMemoryGetMappedBuffer", External, &p, nullptr, &external);
  CALL(find, "cuMemFree_v2", Free, p);

  // Virtual memory: 4 MiB of addresses, 2 MiB of device memory mapped at their start.
  constexpr size_t kPage = size_t{2} << 20;
  const PoolProperties on_device{1, 0, 1, 0, {}};  // begins like CUmemAllocationProp
  const PoolProperties on_host{1, 0, 2, 0, {}};
  uint64_t handle = 0;
  uint64_t same_handle = 0;
  using Create = int(uint64_t*, size_t, const PoolProperties*, uint64_t);
  using Release = int(uint64_t);
  using Reserve = int(void**, size_t, size_t, void*, uint64_t);
  using Map = int(void*, size_t, size_t, uint64_t, uint64_t);
  using Range = int(void*, size_t);
  using RetainHandle = int(uint64_t*, void*);
  using Import = int(uint64_t*, uint64_t, int);
  CALL(find, "cuMemAddressReserve", Reserve, &p, 2 * kPage, 0, nullptr, 0);
  CALL(find, "cuMemCreate", Create, &handle, kPage, &on_device, 0);
  CALL(find, "cuMemMap", Map, p, kPage, 0, handle, 0);
  CALL(find, "cuMemRetainAllocationHandle", RetainHandle, &same_handle, p);
  CALL(find, "cuMemRelease", Release, handle);
  CALL(find, "cuMemImportFromShareableHandle", Import, &same_handle, handle, 1);
  CALL(find, "cuMemRelease", Release, same_handle);
  CALL(find, "cuMemUnmap", Range, p, kPage);
  CALL(find, "cuMemRelease", Release, handle);
  CALL(find, "cuMemAddressFree", Range, p, 2 * kPage);
  CALL(find, "cuMemCreate", Create, &handle, kPage, &on_host, 0);
  CALL(find, "cuMemRelease", Release, handle);
  CALL_EXPECTING(2, find, "cuMemCreate", Create, &handle, size_t{1} << 40, &on_device, 0);

  // Graphs.
  GraphAllocParameters parameters{};
  parameters.bytes = 10013;
  void* node = nullptr;
  using GraphAlloc = int(void**, void*, void* const*, size_t, GraphAllocParameters*);
  using GraphFree = int(void**, void*, void* const*, size_t, void*);
  CALL(find, "cuGraphAddMemAllocNode", GraphAlloc, &node, nullptr, nullptr, 0, &parameters);
  CALL(find, "cuGraphAddMemFreeNode", GraphFree, &node, nullptr, nullptr, 0, parameters.pointer);
  void* const stream = reinterpret_cast<void*>(0x5000);
  void* graph = nullptr;
  using Begin = int(void*, int);
  using BeginToGraph = int(void*, void*, const void*, const void*, size_t, int);
  using End = int(void*, void**);
  CALL(find, "cuStreamBeginCapture_v2", Begin, stream, 0);
  CALL(find, "cuMemAlloc_v2", Alloc, &p, 10014);
  CALL(find, "cuStreamEndCapture", End, stream, &graph);
  CALL(find, "cuMemFreeAsync", FreeStream, p, nullptr);
  CALL(find, "cuStreamBeginCaptureToGraph", BeginToGraph, stream, nullptr, nullptr, nullptr, 0, 2);
  CALL(find, "cuStreamEndCapture", End, stream, &graph);

  // Refused, and bad arguments.
  CALL_EXPECTING(2, find, "cuMemAlloc_v2", Alloc, &p, size_t{1} << 40);
  CALL_EXPECTING(1, find, "cuMemAlloc_v2", Alloc, nullptr, 0);

  if (by_export) {
    CALL(find, "cuMemHostRegister", Register, registered, sizeof registered, 0);
    CALL(find, "cuMemHostUnregister", Free, registered);
    CALL(find, "cuMemAllocAsync_ptsz", AllocStream, &p, 10007, nullptr);
    CALL(find, "cuMemFreeAsync_ptsz", FreeStream, p, nullptr);
    void* no_pool = nullptr;
    CALL(find, "cuMemAllocFromPoolAsync_ptsz", AllocFromPool, &p, 10009, no_pool, nullptr);
    CALL(find, "cuMemFreeAsync_ptsz", FreeStream, p, nullptr);
    CALL(find, "cuIpcOpenMemHandle", IpcOpen, &p, ipc, 1);
    CALL(find, "cuIpcCloseMemHandle", Free, p);
    CALL(find, "cuStreamBeginCapture_v2_ptsz", Begin, stream, 0);
    CALL(find, "cuStreamEndCapture_ptsz", End, stream, &graph);
    CALL(find, "cuStreamBeginCaptureToGraph_ptsz", BeginToGraph, stream, nullptr, nullptr, nullptr, 0, 2);
    CALL(find, "cuStreamEndCapture_ptsz", End, stream, &graph);
    CALL(find, "cuDevicePrimaryCtxReset", OfDevice, 0);
    CALL(find, "cuDevicePrimaryCtxRetain", Retain, &primary, 0);
    CALL(find, "cuDevicePrimaryCtxRelease", OfDevice, 0);
  }

  // Teardown: another context's memory goes with it; the primary one's only with its last release.
  void* context = nullptr;
  using ContextCreate = int(void**, unsigned, int);
  CALL(find, "cuCtxCreate_v2", ContextCreate, &context, 0, 0);
  CALL(find, "cuMemAlloc_v2", Alloc, &p, 10021);
  CALL(find, "cuCtxDestroy_v2", Free, context);
  if (by_export) {
    CALL(find, "cuCtxCreate_v2", ContextCreate, &context, 0, 0);
    CALL(find, "cuCtxDestroy", Free, context);
  }
  CALL(find, "cuCtxSetCurrent", Free, primary);
  CALL(find, "cuDevicePrimaryCtxReset_v2", OfDevice, 0);
  CALL(find, "cuDevicePrimaryCtxRetain", Retain, &primary, 0);
  CALL(find, "cuDevicePrimaryCtxRelease_v2", OfDevice, 0);
  CALL(find, "cuDevicePrimaryCtxRelease_v2", OfDevice, 0);
}

#endif  // PLATEAU_TESTS_PRELOAD_CUDA_PROGRAMS_DRIVER_CALLS_H_

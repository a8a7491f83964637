// Every wrapped runtime call once, in an order the test knows (cuda_calls_test.cc, kRuntimeEvents).
#ifndef PLATEAU_TESTS_PRELOAD_CUDA_PROGRAMS_RUNTIME_CALLS_H_
#define PLATEAU_TESTS_PRELOAD_CUDA_PROGRAMS_RUNTIME_CALLS_H_

#include "tests/preload/cuda/programs/program.h"

inline void RunRuntimeCalls(Finder find) {
  using Alloc = int(void**, size_t);
  using AllocFlags = int(void**, size_t, unsigned);
  using AllocStream = int(void**, size_t, void*);
  using AllocFromPool = int(void**, size_t, void*, void*);
  using Free = int(void*);
  using FreeStream = int(void*, void*);
  void* p = nullptr;
  void* q = nullptr;

  // Linear.
  CALL(find, "cudaMalloc", Alloc, &p, 10001);
  CALL(find, "cudaFree", Free, p);
  size_t pitch = 0;
  using Pitch = int(void**, size_t*, size_t, size_t);
  CALL(find, "cudaMallocPitch", Pitch, &p, &pitch, 1000, 3);
  CALL(find, "cudaFree", Free, p);
  PitchedPointer pitched{};
  using Alloc3D = int(PitchedPointer*, Extent);
  CALL(find, "cudaMalloc3D", Alloc3D, &pitched, {1000, 3, 2});
  CALL(find, "cudaFree", Free, pitched.pointer);
  CALL(find, "cudaMallocManaged", AllocFlags, &p, 10002, 1);
  CALL(find, "cudaFree", Free, p);

  // Arrays.
  const ChannelFormat one_float{{32, 0, 0, 0}, 2};
  const ChannelFormat four_floats{{32, 32, 32, 32}, 2};
  using Array = int(void**, const ChannelFormat*, size_t, size_t, unsigned);
  using Array3D = int(void**, const ChannelFormat*, Extent, unsigned);
  using Mipmapped = int(void**, const ChannelFormat*, Extent, unsigned, unsigned);
  CALL(find, "cudaMallocArray", Array, &p, &one_float, 64, 32, 0);
  CALL(find, "cudaFreeArray", Free, p);
  CALL(find, "cudaMalloc3DArray", Array3D, &p, &four_floats, {16, 8, 5}, 0);
  CALL(find, "cudaFreeArray", Free, p);
  CALL(find, "cudaMallocMipmappedArray", Mipmapped, &p, &one_float, {16, 16, 0}, 3, 0);
  CALL(find, "cudaFreeMipmappedArray", Free, p);

  // Host.
  CALL(find, "cudaMallocHost", Alloc, &p, 10003);
  CALL(find, "cudaFreeHost", Free, p);
  CALL(find, "cudaHostAlloc", AllocFlags, &p, 10004, 0);
  CALL(find, "cudaFreeHost", Free, p);
  static char registered[10005];
  using Register = int(void*, size_t, unsigned);
  CALL(find, "cudaHostRegister", Register, registered, sizeof registered, 0);
  CALL(find, "cudaHostUnregister", Free, registered);

  // Stream-ordered.
  CALL(find, "cudaMallocAsync", AllocStream, &p, 10006, nullptr);
  CALL(find, "cudaFreeAsync", FreeStream, p, nullptr);
  CALL(find, "cudaMallocAsync_ptsz", AllocStream, &p, 10007, nullptr);
  CALL(find, "cudaFreeAsync_ptsz", FreeStream, p, nullptr);
  void* pool = nullptr;
  const PoolProperties properties{1, 0, 1, 0, {}};
  using PoolCreate = int(void**, const PoolProperties*);
  using PoolTrim = int(void*, size_t);
  CALL(find, "cudaMemPoolCreate", PoolCreate, &pool, &properties);
  CALL(find, "cudaMallocFromPoolAsync", AllocFromPool, &p, 10008, pool, nullptr);
  CALL(find, "cudaFreeAsync", FreeStream, p, nullptr);
  CALL(find, "cudaMallocFromPoolAsync_ptsz", AllocFromPool, &p, 10009, pool, nullptr);
  CALL(find, "cudaFreeAsync_ptsz", FreeStream, p, nullptr);
  CALL(find, "cudaMemPoolTrimTo", PoolTrim, pool, 0);

  // Other owners' memory: reported as imported, in the size the driver says (rounded by the null device).
  CALL(find, "cudaMalloc", Alloc, &q, 10010);
  void* exported = q;
  using PoolImport = int(void**, void*, void**);
  CALL(find, "cudaMemPoolImportPointer", PoolImport, &p, pool, &exported);
  CALL(find, "cudaFree", Free, p);
  CALL(find, "cudaMemPoolDestroy", Free, pool);
  IpcHandle ipc{};
  *reinterpret_cast<void**>(ipc.bytes) = q;
  using IpcOpen = int(void**, IpcHandle, unsigned);
  CALL(find, "cudaIpcOpenMemHandle", IpcOpen, &p, ipc, 1);
  CALL(find, "cudaIpcCloseMemHandle", Free, p);
  CALL(find, "cudaFree", Free, q);
  const ExternalBuffer external{0, 10012, 0};
  using External = int(void**, void*, const ExternalBuffer*);
  CALL(find, "cudaExternalMemoryGetMappedBuffer", External, &p, nullptr, &external);
  CALL(find, "cudaFree", Free, p);

  // Graphs.
  GraphAllocParameters parameters{};
  parameters.bytes = 10013;
  void* node = nullptr;
  using GraphAlloc = int(void**, void*, void* const*, size_t, GraphAllocParameters*);
  using GraphFree = int(void**, void*, void* const*, size_t, void*);
  CALL(find, "cudaGraphAddMemAllocNode", GraphAlloc, &node, nullptr, nullptr, 0, &parameters);
  CALL(find, "cudaGraphAddMemFreeNode", GraphFree, &node, nullptr, nullptr, 0, parameters.pointer);
  void* const stream = reinterpret_cast<void*>(0x5000);
  void* graph = nullptr;
  using Begin = int(void*, int);
  using BeginToGraph = int(void*, void*, const void*, const void*, size_t, int);
  using End = int(void*, void**);
  CALL(find, "cudaStreamBeginCapture", Begin, stream, 0);
  CALL(find, "cudaMalloc", Alloc, &p, 10014);
  CALL(find, "cudaStreamEndCapture", End, stream, &graph);
  CALL(find, "cudaFree", Free, p);
  CALL(find, "cudaStreamBeginCapture_ptsz", Begin, stream, 1);
  CALL(find, "cudaStreamEndCapture_ptsz", End, stream, &graph);
  CALL(find, "cudaStreamBeginCaptureToGraph", BeginToGraph, stream, nullptr, nullptr, nullptr, 0, 2);
  CALL(find, "cudaStreamEndCapture", End, stream, &graph);
  CALL(find, "cudaStreamBeginCaptureToGraph_ptsz", BeginToGraph, stream, nullptr, nullptr, nullptr, 0, 2);
  CALL(find, "cudaStreamEndCapture", End, stream, &graph);

  // Freed by the other family.
  CALL(find, "cudaMallocAsync", AllocStream, &p, 10015, nullptr);
  CALL(find, "cudaFree", Free, p);
  CALL(find, "cudaMalloc", Alloc, &p, 10016);
  CALL(find, "cudaFreeAsync", FreeStream, p, nullptr);

  // Nothing to tell: no bytes, null pointers, bad arguments.
  CALL(find, "cudaMalloc", Alloc, &p, 0);
  CALL(find, "cudaFree", Free, nullptr);
  CALL_EXPECTING(1, find, "cudaMalloc", Alloc, nullptr, 5);

  // Refused.
  CALL_EXPECTING(2, find, "cudaMalloc", Alloc, &p, size_t{1} << 40);

  // Driver functions handed out by the runtime are wrapped and report at driver level.
  using EntryPoint = int(const char*, void**, uint64_t, int*);
  using EntryPointByVersion = int(const char*, void**, unsigned, uint64_t, int*);
  void* driver_alloc = nullptr;
  void* driver_free = nullptr;
  int status = 0;
  for (const char* name : {"cudaGetDriverEntryPoint", "cudaGetDriverEntryPoint_ptsz"}) {
    CALL(find, name, EntryPoint, "cuMemAllocAsync", &driver_alloc, 0, &status);
    CALL(find, name, EntryPoint, "cuMemFreeAsync", &driver_free, 0, &status);
    REQUIRE(reinterpret_cast<AllocStream*>(driver_alloc)(&p, 10017, nullptr) == 0);
    REQUIRE(reinterpret_cast<FreeStream*>(driver_free)(p, nullptr) == 0);
  }
  for (const char* name : {"cudaGetDriverEntryPointByVersion", "cudaGetDriverEntryPointByVersion_ptsz"}) {
    CALL(find, name, EntryPointByVersion, "cuMemAlloc", &driver_alloc, 12000, 0, &status);
    CALL(find, name, EntryPointByVersion, "cuMemFree", &driver_free, 12000, 0, &status);
    REQUIRE(reinterpret_cast<Alloc*>(driver_alloc)(&p, 10018) == 0);
    REQUIRE(reinterpret_cast<Free*>(driver_free)(p) == 0);
  }

  // Teardown.
  CALL(find, "cudaMalloc", Alloc, &p, 10019);
  using Reset = int();
  CALL(find, "cudaDeviceReset", Reset);
  CALL(find, "cudaMalloc", Alloc, &p, 10020);
  CALL(find, "cudaThreadExit", Reset);
}

#endif  // PLATEAU_TESTS_PRELOAD_CUDA_PROGRAMS_RUNTIME_CALLS_H_

// The device half of the null libcudart: devices, errors, streams, events, captures, launches.
// NULL_RUNTIME_VERSION is 12040 or 13000; the two differ in the layout of cudaDeviceProp and in which names
// exist.
#include "tests/nulldevice/null_runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <atomic>

namespace nulldevice {
namespace {

using LookupType = int(const char*, void**, int, uint64_t, int*);

LookupType* Lookup() {
  static auto* lookup = [] {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver == nullptr ? nullptr : reinterpret_cast<LookupType*>(dlsym(driver, "cuGetProcAddress_v2"));
  }();
  return lookup;
}

thread_local int t_last_error = 0;
thread_local int t_device = 0;
thread_local int t_context_of = -1;

std::atomic<uintptr_t> g_next_object{0x200000};
void* NewObject() { return reinterpret_cast<void*>(g_next_object.fetch_add(64)); }

// The capture under way, one at a time for the whole process.
std::atomic<bool> g_capturing{false};
std::atomic<uint64_t> g_capture_id{0};

}  // namespace

void* DriverFunction(const char* name, uint64_t flags) {
  void* function = nullptr;
  return AskDriver(name, &function, NULL_RUNTIME_VERSION, flags, nullptr) == 0 ? function : nullptr;
}

int AskDriver(const char* name, void** function, int version, uint64_t flags, int* status) {
  LookupType* lookup = Lookup();
  return lookup == nullptr ? kInsufficientDriver : lookup(name, function, version, flags, status);
}

void EnsureContext() {
  if (t_context_of == t_device) return;
  void* context = nullptr;
  using InitType = int(unsigned);
  using RetainType = int(void**, int);
  using SetType = int(void*);
  if (NULL_DRIVER(InitType, "cuInit", 0) != 0) return;
  if (NULL_DRIVER(RetainType, "cuDevicePrimaryCtxRetain", &context, t_device) != 0) return;
  if (NULL_DRIVER(SetType, "cuCtxSetCurrent", context) != 0) return;
  t_context_of = t_device;
}

int Remember(int result) {
  if (result != 0) t_last_error = result;
  return result;
}

}  // namespace nulldevice

using namespace nulldevice;

// ---- Versions, errors ----
NULL_EXPORT int cudaRuntimeGetVersion(int* version) { return *version = NULL_RUNTIME_VERSION, 0; }
NULL_EXPORT int cudaDriverGetVersion(int* version) {
  using Type = int(int*);
  *version = 0;
  return NULL_DRIVER(Type, "cuDriverGetVersion", version), 0;
}
NULL_EXPORT int cudaGetLastError() {
  const int error = t_last_error;
  t_last_error = 0;
  return error;
}
NULL_EXPORT int cudaPeekAtLastError() { return t_last_error; }
NULL_EXPORT const char* cudaGetErrorString(int error) {
  return error == 0 ? "no error" : error == 2 ? "out of memory" : "null runtime error";
}
NULL_EXPORT const char* cudaGetErrorName(int error) {
  return error == 0 ? "cudaSuccess" : error == 2 ? "cudaErrorMemoryAllocation" : "cudaErrorUnknown";
}

// ---- Devices ----
NULL_EXPORT int cudaGetDeviceCount(int* count) {
  using Type = int(int*);
  *count = 0;
  return Remember(NULL_DRIVER(Type, "cuDeviceGetCount", count));
}
NULL_EXPORT int cudaGetDevice(int* device) { return *device = t_device, 0; }
NULL_EXPORT int cudaSetDevice(int device) {
  t_device = device;
  EnsureContext();
  return 0;
}
NULL_EXPORT int cudaDeviceReset() {
  using Type = int(int);
  t_context_of = -1;
  return Remember(NULL_DRIVER(Type, "cuDevicePrimaryCtxReset", t_device));
}
NULL_EXPORT int cudaThreadExit() { return cudaDeviceReset(); }
NULL_EXPORT int cudaDeviceSynchronize() { return 0; }
NULL_EXPORT int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  using Type = int(int*, int, int);
  return Remember(NULL_DRIVER(Type, "cuDeviceGetAttribute", value, attribute, device));
}
NULL_EXPORT int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return 0;
}
NULL_EXPORT int cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 0, 0; }
NULL_EXPORT int cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return snprintf(text, length, "0000:%02x:00.0", device + 1), 0;
}

// The beginning of cudaDeviceProp, as far as anyone asks. CUDA 13 dropped the fields marked 12.
#if NULL_RUNTIME_VERSION < 13000
#define ONLY_12(field) field
#else
#define ONLY_12(field)
#endif
struct DeviceProperties {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luid_mask;
  size_t total_bytes, shared_bytes_per_block;
  int registers_per_block, warp_size;
  size_t pitch_bytes;
  int threads_per_block, threads_dim[3], grid_size[3];
  ONLY_12(int clock_rate;)
  size_t constant_bytes;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  ONLY_12(int device_overlap;)
  int multiprocessors;
  ONLY_12(int kernel_timeout;)
  int integrated, can_map_host;
  ONLY_12(int compute_mode;)
  int texture_1d, texture_1d_mipmap;
  ONLY_12(int texture_1d_linear;)
  int texture_and_surface[37];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines, unified_addressing;
  ONLY_12(int memory_clock_rate;)
  int memory_bus_width, l2_bytes, persisting_l2_bytes, threads_per_multiprocessor, stream_priorities,
      l1_global, l1_local;
  size_t shared_bytes_per_multiprocessor;
  int registers_per_multiprocessor, managed_memory, multi_gpu_board, multi_gpu_group, host_native_atomics;
  ONLY_12(int single_to_double_ratio;)
  int pageable_access, concurrent_managed, compute_preemption, host_register_pointer, cooperative_launch;
  ONLY_12(int cooperative_multi_device;)
  size_t shared_bytes_per_block_optin;
};
NULL_EXPORT int cudaGetDeviceProperties_v2(DeviceProperties* p, int device) {
  using Type = int(size_t*, int);
  memset(static_cast<void*>(p), 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "Null Device %d", device);
  NULL_DRIVER(Type, "cuDeviceTotalMem", &p->total_bytes, device);
  p->shared_bytes_per_block = 49152;
  p->registers_per_block = p->registers_per_multiprocessor = 65536;
  p->warp_size = 32;
  p->threads_per_block = p->threads_dim[0] = p->threads_dim[1] = 1024;
  p->threads_dim[2] = 64;
  p->grid_size[0] = 2147483647;
  p->grid_size[1] = p->grid_size[2] = 65535;
  p->major = 8;
  p->texture_alignment = 512;
  p->multiprocessors = 108;
  p->unified_addressing = p->managed_memory = 1;
  p->pci_bus = 1 + device;
  p->l2_bytes = 41943040;
  p->threads_per_multiprocessor = 2048;
  p->shared_bytes_per_multiprocessor = 167936;
  p->shared_bytes_per_block_optin = 166912;
  return 0;
}
NULL_EXPORT int cudaGetDeviceProperties(DeviceProperties* p, int device) {
  return cudaGetDeviceProperties_v2(p, device);
}

// ---- Streams and events ----
NULL_EXPORT int cudaStreamCreate(void** stream) { return *stream = NewObject(), 0; }
NULL_EXPORT int cudaStreamCreateWithFlags(void** stream, unsigned) { return *stream = NewObject(), 0; }
NULL_EXPORT int cudaStreamCreateWithPriority(void** stream, unsigned, int) {
  return *stream = NewObject(), 0;
}
NULL_EXPORT int cudaStreamGetPriority(void*, int* priority) { return *priority = 0, 0; }
NULL_EXPORT int cudaEventCreate(void** event) { return *event = NewObject(), 0; }
NULL_EXPORT int cudaEventCreateWithFlags(void** event, unsigned) { return *event = NewObject(), 0; }
NULL_EXPORT int cudaEventElapsedTime(float* milliseconds, void*, void*) { return *milliseconds = 0.01f, 0; }

// ---- Captures and graphs ----
NULL_EXPORT int cudaStreamBeginCapture(void* stream, int mode) {
  using Type = int(void*, int);
  g_capturing = true;
  ++g_capture_id;
  return Remember(NULL_DRIVER(Type, "cuStreamBeginCapture", stream, mode));
}
NULL_EXPORT int cudaStreamBeginCapture_ptsz(void* stream, int mode) {
  return cudaStreamBeginCapture(stream, mode);
}
NULL_EXPORT int cudaStreamBeginCaptureToGraph(void* stream, void*, const void*, const void*, size_t,
                                              int mode) {
  return cudaStreamBeginCapture(stream, mode);
}
NULL_EXPORT int cudaStreamBeginCaptureToGraph_ptsz(void* stream, void*, const void*, const void*, size_t,
                                                   int mode) {
  return cudaStreamBeginCapture(stream, mode);
}
NULL_EXPORT int cudaStreamEndCapture(void* stream, void** graph) {
  using Type = int(void*, void**);
  g_capturing = false;
  return Remember(NULL_DRIVER(Type, "cuStreamEndCapture", stream, graph));
}
NULL_EXPORT int cudaStreamEndCapture_ptsz(void* stream, void** graph) {
  return cudaStreamEndCapture(stream, graph);
}
NULL_EXPORT int cudaStreamIsCapturing(void*, int* status) { return *status = g_capturing ? 1 : 0, 0; }
namespace {
int CaptureInfo(int* status, uint64_t* id, void** graph, size_t* count) {
  *status = g_capturing ? 1 : 0;
  if (id != nullptr) *id = g_capture_id;
  if (graph != nullptr) *graph = nullptr;
  if (count != nullptr) *count = 0;
  return 0;
}
}  // namespace
NULL_EXPORT int cudaStreamGetCaptureInfo_v2(void*, int* status, uint64_t* id, void** graph, const void***,
                                            size_t* count) {
  return CaptureInfo(status, id, graph, count);
}
#if NULL_RUNTIME_VERSION < 13000
NULL_EXPORT int cudaStreamGetCaptureInfo_v3(void*, int* status, uint64_t* id, void** graph, const void***,
                                            const void**, size_t* count) {
  return CaptureInfo(status, id, graph, count);
}
#else
NULL_EXPORT int cudaStreamGetCaptureInfo(void*, int* status, uint64_t* id, void** graph, const void***,
                                         const void**, size_t* count) {
  return CaptureInfo(status, id, graph, count);
}
#endif
NULL_EXPORT int cudaGraphCreate(void** graph, unsigned) { return *graph = NewObject(), 0; }
NULL_EXPORT int cudaGraphInstantiate(void** executable, void*, uint64_t) {
  return *executable = NewObject(), 0;
}
NULL_EXPORT int cudaGraphInstantiateWithFlags(void** executable, void*, uint64_t) {
  return *executable = NewObject(), 0;
}
NULL_EXPORT int cudaGraphGetNodes(void*, void**, size_t* count) { return *count = 1, 0; }

// ---- Launches do nothing ----
NULL_EXPORT int cudaLaunchKernel() { return 0; }
NULL_EXPORT unsigned __cudaPushCallConfiguration() { return 0; }
NULL_EXPORT int __cudaPopCallConfiguration(unsigned* grid, unsigned* block, size_t* shared_bytes,
                                           void** stream) {
  memset(grid, 0, 12);
  memset(block, 0, 12);
  *shared_bytes = 0;
  return *stream = nullptr, 0;
}
NULL_EXPORT void** __cudaRegisterFatBinary(void*) {
  static void* binary = nullptr;
  return &binary;
}
NULL_EXPORT int cudaFuncGetAttributes(int* attributes, const void*) {
  memset(attributes, 0, 56);
  attributes[6] = 1024;  // threads per block
  attributes[7] = 32;    // registers
  attributes[8] = attributes[9] = 80;
  return 0;
}
NULL_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  return *blocks = 2, 0;
}
NULL_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, size_t,
                                                                       unsigned) {
  return *blocks = 2, 0;
}

// ---- Driver functions for programs ----
NULL_EXPORT int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                                 uint64_t flags, int* status) {
  return AskDriver(name, function, static_cast<int>(version), flags, status) == 0 ? 0 : 1;
}
NULL_EXPORT int cudaGetDriverEntryPointByVersion_ptsz(const char* name, void** function, unsigned version,
                                                      uint64_t flags, int* status) {
  return cudaGetDriverEntryPointByVersion(name, function, version, flags | kPerThreadStream, status);
}
NULL_EXPORT int cudaGetDriverEntryPoint(const char* name, void** function, uint64_t flags, int* status) {
  return cudaGetDriverEntryPointByVersion(name, function, NULL_RUNTIME_VERSION, flags, status);
}
NULL_EXPORT int cudaGetDriverEntryPoint_ptsz(const char* name, void** function, uint64_t flags, int* status) {
  return cudaGetDriverEntryPoint(name, function, flags | kPerThreadStream, status);
}

// libcuda.so.1 of the null device: contexts, streams, events and the lookup of functions. Memory is
// null_driver_memory.cc.
//
// Written from the public documentation of the driver API. There are no private export tables: a real
// libcudart above it fetches its functions and stops at its own check of the driver, which is left alone.
#include "tests/nulldevice/null_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <atomic>

namespace nulldevice {
namespace {

// A context is an address that says which device it is for; entry 0 of a row is the primary context.
constexpr int kMaxDevices = 16;
constexpr int kMaxContexts = 8;
char g_contexts[kMaxDevices][kMaxContexts];
std::atomic<int> g_primary_references[kMaxDevices];
thread_local char* t_current = nullptr;

std::atomic<uintptr_t> g_next_object{0x100000};

}  // namespace

int DeviceCount() {
  static const int count = static_cast<int>(Setting("NULLDEVICE_DEVICES", 1));
  return count;
}
int DeviceOf(const void* context) {
  return context == nullptr
             ? 0
             : static_cast<int>((static_cast<const char*>(context) - g_contexts[0]) / kMaxContexts);
}
void* CurrentContext() { return t_current; }
void* NewObject() { return reinterpret_cast<void*>(g_next_object.fetch_add(64)); }

namespace {
int Unimplemented() { return kSuccess; }
bool IsDevice(int device) { return device >= 0 && device < DeviceCount(); }
}  // namespace
}  // namespace nulldevice

using namespace nulldevice;

NULL_EXPORT int cuInit(unsigned) { return kSuccess; }
NULL_EXPORT int cuDriverGetVersion(int* version) {
  *version = static_cast<int>(Setting("NULLDEVICE_VERSION", 13000));
  return kSuccess;
}
NULL_EXPORT int cuGetErrorString(int, const char** text) { return *text = "null driver error", kSuccess; }
NULL_EXPORT int cuGetErrorName(int, const char** text) { return *text = "CUDA_ERROR", kSuccess; }
NULL_EXPORT int cuGetExportTable(const void** table, const void*) { return *table = nullptr, kNotFound; }

// ---- Devices ----
NULL_EXPORT int cuDeviceGetCount(int* count) { return *count = DeviceCount(), kSuccess; }
NULL_EXPORT int cuDeviceGet(int* device, int ordinal) {
  return IsDevice(ordinal) ? (*device = ordinal, kSuccess) : kInvalidDevice;
}
NULL_EXPORT int cuDeviceGetName(char* name, int length, int device) {
  return snprintf(name, length, "Null Device %d", device), kSuccess;
}
NULL_EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int) {
  return *bytes = Setting("NULLDEVICE_BYTES", size_t{16} << 30), kSuccess;
}
NULL_EXPORT int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  return memset(uuid, 0x5a, 16), uuid[15] = static_cast<unsigned char>(device), kSuccess;
}
NULL_EXPORT int cuDeviceGetUuid(unsigned char* uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }
NULL_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  struct Known {
    int attribute, value;
  };
  static constexpr Known kKnown[] = {
      {1, 1024},  {2, 1024},      {3, 1024},    {4, 64},     {5, 2147483647},
      {6, 65535}, {7, 65535},     {8, 49152},   {10, 32},    {12, 65536},
      {16, 108},  {38, 41943040}, {39, 2048},   {41, 1},  // unified addressing
      {75, 8},    {76, 0},        {81, 167936}, {82, 65536}, {83, 1},
      {89, 1},    {97, 166912},   {102, 1},  // virtual memory management
      {115, 1},                              // memory pools
  };
  *value = attribute == 33 ? 1 + device : 0;  // PCI bus
  for (const Known& known : kKnown) {
    if (known.attribute == attribute) *value = known.value;
  }
  return kSuccess;
}

// ---- Contexts ----
NULL_EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (!IsDevice(device)) return kInvalidDevice;
  ++g_primary_references[device];
  *context = g_contexts[device];
  return kSuccess;
}
NULL_EXPORT int cuDevicePrimaryCtxReset_v2(int device) {
  Memory::Get().ReleaseContext(device, reinterpret_cast<uintptr_t>(g_contexts[device]));
  Log("primary reset %d", device);
  return kSuccess;
}
NULL_EXPORT int cuDevicePrimaryCtxReset(int device) { return cuDevicePrimaryCtxReset_v2(device); }
NULL_EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  return --g_primary_references[device] == 0 ? cuDevicePrimaryCtxReset_v2(device) : int{kSuccess};
}
NULL_EXPORT int cuDevicePrimaryCtxRelease(int device) { return cuDevicePrimaryCtxRelease_v2(device); }
NULL_EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  *flags = 0;
  *active = g_primary_references[device] > 0;
  return kSuccess;
}
NULL_EXPORT int cuCtxCreate_v2(void** context, unsigned, int device) {
  static std::atomic<int> created{0};
  t_current = &g_contexts[device][1 + created.fetch_add(1) % (kMaxContexts - 1)];
  return *context = t_current, kSuccess;
}
NULL_EXPORT int cuCtxDestroy_v2(void* context) {
  if (context == nullptr) return kInvalidContext;
  Memory::Get().ReleaseContext(DeviceOf(context), reinterpret_cast<uintptr_t>(context));
  if (t_current == context) t_current = nullptr;
  return kSuccess;
}
NULL_EXPORT int cuCtxDestroy(void* context) { return cuCtxDestroy_v2(context); }
NULL_EXPORT int cuCtxGetCurrent(void** context) { return *context = t_current, kSuccess; }
NULL_EXPORT int cuCtxSetCurrent(void* context) { return t_current = static_cast<char*>(context), kSuccess; }
NULL_EXPORT int cuCtxPushCurrent_v2(void* context) { return cuCtxSetCurrent(context); }
NULL_EXPORT int cuCtxPopCurrent_v2(void** context) { return *context = t_current, kSuccess; }
NULL_EXPORT int cuCtxGetDevice(int* device) {
  return t_current == nullptr ? kInvalidContext : (*device = DeviceOf(t_current), kSuccess);
}
NULL_EXPORT int cuCtxSynchronize() { return kSuccess; }

// ---- Streams, events, graphs, launches: objects with names, nothing behind them ----
NULL_EXPORT int cuStreamCreate(void** stream, unsigned) { return *stream = NewObject(), kSuccess; }
NULL_EXPORT int cuStreamCreateWithPriority(void** stream, unsigned, int) {
  return *stream = NewObject(), kSuccess;
}
NULL_EXPORT int cuEventCreate(void** event, unsigned) { return *event = NewObject(), kSuccess; }
NULL_EXPORT int cuGraphCreate(void** graph, unsigned) { return *graph = NewObject(), kSuccess; }
NULL_EXPORT int cuStreamBeginCapture_v2(void*, int) { return kSuccess; }
NULL_EXPORT int cuStreamBeginCapture_v2_ptsz(void*, int) { return kSuccess; }
NULL_EXPORT int cuStreamBeginCaptureToGraph(void*, void*, const void*, const void*, size_t, int) {
  return kSuccess;
}
NULL_EXPORT int cuStreamBeginCaptureToGraph_ptsz(void*, void*, const void*, const void*, size_t, int) {
  return kSuccess;
}
NULL_EXPORT int cuStreamEndCapture(void*, void** graph) { return *graph = NewObject(), kSuccess; }
NULL_EXPORT int cuStreamEndCapture_ptsz(void* stream, void** graph) {
  return cuStreamEndCapture(stream, graph);
}
NULL_EXPORT int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               void*, void**, void**) {
  return kSuccess;
}

NULL_EXPORT int cuMemsetD32Async(void*, unsigned, size_t, void*) { return kSuccess; }
NULL_EXPORT int cuStreamWriteValue32(void*, void*, unsigned, unsigned) { return kSuccess; }
NULL_EXPORT int cuMulticastCreate(uint64_t*, const void*) { return kNotFound; }
NULL_EXPORT int cuMulticastAddDevice(uint64_t, int) { return kNotFound; }
NULL_EXPORT int cuMulticastBindMem(uint64_t, size_t, uint64_t, size_t, size_t, uint64_t) { return kNotFound; }

// ---- Lookup ----
namespace {
// The newest exported variant of `name`, preferring the per-thread-stream one if asked for. Versions
// before 3.2 get the unsuffixed function, whose pointers have 32 bits.
void* FindVariant(const char* name, int version, bool per_thread) {
  static void* self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  static constexpr const char* kSuffixes[] = {"_v2_ptsz", "_ptsz", "_v2", ""};
  for (const char* suffix : kSuffixes) {
    if (!per_thread && strstr(suffix, "_ptsz") != nullptr) continue;
    if (version < 3020 && suffix[0] != '\0') continue;
    char variant[128];
    snprintf(variant, sizeof variant, "%s%s", name, suffix);
    if (void* found = dlsym(self, variant)) return found;
  }
  return nullptr;
}
}  // namespace

NULL_EXPORT int cuGetProcAddress(const char* name, void** function, int version, uint64_t flags);

NULL_EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags,
                                    int* status) {
  constexpr uint64_t kPerThreadStream = 2;
  static const bool with_stubs = Setting("NULLDEVICE_STUBS", 0) != 0;
  *function = name[0] == '\0' ? nullptr : FindVariant(name, version, (flags & kPerThreadStream) != 0);
  if (strcmp(name, "cuGetProcAddress") == 0 && version < 12000)
    *function = reinterpret_cast<void*>(&cuGetProcAddress);
  if (*function == nullptr && with_stubs && name[0] != '\0')
    *function = reinterpret_cast<void*>(&Unimplemented);
  Log("lookup %s %d %s", name, version, *function == nullptr ? "none" : "found");
  if (status != nullptr) *status = *function == nullptr ? 1 : 0;
  return *function == nullptr ? kNotFound : kSuccess;
}
NULL_EXPORT int cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

// What each kind of CUDA call looks like and what it means. cuda_calls.inc names one of these types per call.
//
// `Type` is the C function type. Before() and After() get the call, for After() the result, and the
// arguments; a kind that has nothing to say inherits silence. Both run only for the outermost wrapped call of
// a thread and only when there is someone to tell, except for the kinds with kHandsOutFunctions: those
// replace pointers and must always run. After() sees success and out-of-memory alone, when the arguments are
// known to be good; with kTellsFailures every result.
#ifndef PLATEAU_PRELOAD_CUDA_SIGNATURES_H_
#define PLATEAU_PRELOAD_CUDA_SIGNATURES_H_

#include <stddef.h>
#include <stdint.h>

#include "preload/cuda/call.h"
#include "preload/cuda/cuda_abi.h"
#include "preload/cuda/driver_queries.h"
#include "preload/cuda/wrapper_slots.h"

namespace plateau::cuda {

struct Silent {
  static constexpr bool kHandsOutFunctions = false;
  static constexpr bool kTellsFailures = false;
  template <typename... Args>
  static void Before(const Call&, Args...) {}
  template <typename... Args>
  static void After(const Call&, int, Args...) {}
};

// ---- Linear memory ----

struct Alloc : Silent {
  using Type = int(void** pointer, size_t bytes);
  static void After(const Call& call, int result, void** pointer, size_t bytes) {
    call.Allocated(result, *pointer, bytes);
  }
};

struct AllocFlags : Silent {
  using Type = int(void** pointer, size_t bytes, unsigned flags);
  static void After(const Call& call, int result, void** pointer, size_t bytes, unsigned) {
    call.Allocated(result, *pointer, bytes);
  }
};

// The driver and the runtime choose the pitch; until they have, the asked-for width is all that is known.
inline uint64_t PitchedBytes(int result, const size_t* pitch, size_t width, size_t rows) {
  return uint64_t{result == kSuccess ? *pitch : width} * rows;
}

struct AllocPitch : Silent {
  using Type = int(void** pointer, size_t* pitch, size_t width, size_t height);
  static void After(const Call& call, int result, void** pointer, size_t* pitch, size_t width,
                    size_t height) {
    call.Allocated(result, *pointer, PitchedBytes(result, pitch, width, height));
  }
};

struct DriverAllocPitch : Silent {
  using Type = int(void** pointer, size_t* pitch, size_t width, size_t height, unsigned element_bytes);
  static void After(const Call& call, int result, void** pointer, size_t* pitch, size_t width, size_t height,
                    unsigned) {
    call.Allocated(result, *pointer, PitchedBytes(result, pitch, width, height));
  }
};

struct Alloc3D : Silent {
  using Type = int(PitchedPointer* pointer, Extent extent);
  static void After(const Call& call, int result, PitchedPointer* pointer, Extent extent) {
    call.Allocated(result, pointer->pointer,
                   PitchedBytes(result, &pointer->pitch_bytes, extent.width, extent.height * extent.depth));
  }
};

struct Free : Silent {
  using Type = int(void* pointer);
  static void Before(const Call& call, void* pointer) { call.Freeing(pointer); }
};

struct Register : Silent {
  using Type = int(void* pointer, size_t bytes, unsigned flags);
  static void After(const Call& call, int result, void* pointer, size_t bytes, unsigned) {
    call.Allocated(result, pointer, bytes);
  }
};

// ---- Arrays: nominal bytes, the device's padding is not told ----

inline uint64_t Elements(Extent extent) {
  const auto at_least_one = [](size_t length) { return uint64_t{length == 0 ? 1 : length}; };
  return at_least_one(extent.width) * at_least_one(extent.height) * at_least_one(extent.depth);
}

inline uint64_t MipmappedElements(Extent extent, unsigned levels) {
  uint64_t elements = 0;
  for (unsigned level = 0; level < levels && level < 32; ++level) {
    elements += Elements({extent.width >> level, extent.height >> level, extent.depth >> level});
  }
  return elements;
}

inline uint64_t ElementBytes(const ChannelFormat& format) {
  return static_cast<uint64_t>(format.bits[0] + format.bits[1] + format.bits[2] + format.bits[3]) / 8;
}

struct AllocArray : Silent {
  using Type = int(void** array, const ChannelFormat* format, size_t width, size_t height, unsigned flags);
  static void After(const Call& call, int result, void** array, const ChannelFormat* format, size_t width,
                    size_t height, unsigned) {
    call.Allocated(result, *array, Elements({width, height, 1}) * ElementBytes(*format));
  }
};

struct Alloc3DArray : Silent {
  using Type = int(void** array, const ChannelFormat* format, Extent extent, unsigned flags);
  static void After(const Call& call, int result, void** array, const ChannelFormat* format, Extent extent,
                    unsigned) {
    call.Allocated(result, *array, Elements(extent) * ElementBytes(*format));
  }
};

struct AllocMipmappedArray : Silent {
  using Type = int(void** array, const ChannelFormat* format, Extent extent, unsigned levels, unsigned flags);
  static void After(const Call& call, int result, void** array, const ChannelFormat* format, Extent extent,
                    unsigned levels, unsigned) {
    call.Allocated(result, *array, MipmappedElements(extent, levels) * ElementBytes(*format));
  }
};

struct DriverArray : Silent {
  using Type = int(void** array, const ArrayDescriptor* descriptor);
  static void After(const Call& call, int result, void** array, const ArrayDescriptor* descriptor) {
    call.Allocated(result, *array,
                   Elements({descriptor->width, descriptor->height, 1}) * FormatBytes(descriptor->format) *
                       descriptor->channels);
  }
};

struct Driver3DArray : Silent {
  using Type = int(void** array, const Array3DDescriptor* descriptor);
  static void After(const Call& call, int result, void** array, const Array3DDescriptor* descriptor) {
    call.Allocated(result, *array,
                   Elements({descriptor->width, descriptor->height, descriptor->depth}) *
                       FormatBytes(descriptor->format) * descriptor->channels);
  }
};

struct DriverMipmappedArray : Silent {
  using Type = int(void** array, const Array3DDescriptor* descriptor, unsigned levels);
  static void After(const Call& call, int result, void** array, const Array3DDescriptor* descriptor,
                    unsigned levels) {
    call.Allocated(result, *array,
                   MipmappedElements({descriptor->width, descriptor->height, descriptor->depth}, levels) *
                       FormatBytes(descriptor->format) * descriptor->channels);
  }
};

// ---- Stream-ordered memory and its pools ----

struct AllocStream : Silent {
  using Type = int(void** pointer, size_t bytes, void* stream);
  static void After(const Call& call, int result, void** pointer, size_t bytes, void*) {
    call.Allocated(result, *pointer, bytes);
    call.Polled(nullptr);
  }
};

struct AllocFromPool : Silent {
  using Type = int(void** pointer, size_t bytes, void* pool, void* stream);
  static void After(const Call& call, int result, void** pointer, size_t bytes, void* pool, void*) {
    call.Allocated(result, *pointer, bytes);
    call.Polled(pool);
  }
};

struct FreeStream : Silent {
  using Type = int(void* pointer, void* stream);
  static void Before(const Call& call, void* pointer, void*) { call.Freeing(pointer); }
  static void After(const Call& call, int, void*, void*) { call.Polled(nullptr); }
};

struct PoolCreate : Silent {
  using Type = int(void** pool, const PoolProperties* properties);
  static void After(const Call& call, int result, void** pool, const PoolProperties* properties) {
    const MemoryLocation location = properties->location;
    if (result == kSuccess)
      call.PoolCreated(*pool, location.type == MemoryLocation::kDevice ? location.id : -1);
  }
};

struct PoolDestroy : Silent {
  using Type = int(void* pool);
  static void Before(const Call& call, void* pool) { call.PoolDestroying(pool); }
};

struct PoolTrim : Silent {
  using Type = int(void* pool, size_t keep_bytes);
  static void After(const Call& call, int result, void* pool, size_t) {
    if (result == kSuccess) call.PoolChanged(pool);
  }
};

// ---- Memory of another process or API ----

struct PoolImport : Silent {
  using Type = int(void** pointer, void* pool, void* export_data);
  static void After(const Call& call, int result, void** pointer, void*, void*) {
    call.AllocatedUnknownSize(result, *pointer);
  }
};

struct IpcOpen : Silent {
  using Type = int(void** pointer, IpcHandle handle, unsigned flags);
  static void After(const Call& call, int result, void** pointer, IpcHandle, unsigned) {
    call.AllocatedUnknownSize(result, *pointer);
  }
};

struct ExternalBuffer : Silent {
  using Type = int(void** pointer, void* memory, const ExternalBufferDescriptor* descriptor);
  static void After(const Call& call, int result, void** pointer, void*,
                    const ExternalBufferDescriptor* descriptor) {
    call.Allocated(result, *pointer, descriptor->bytes);
  }
};

// ---- Virtual memory management: physical handles, address ranges, mappings ----

struct VmmCreate : Silent {
  using Type = int(uint64_t* handle, size_t bytes, const AllocationProperties* properties, uint64_t flags);
  static void After(const Call& call, int result, uint64_t* handle, size_t bytes,
                    const AllocationProperties* properties, uint64_t) {
    const MemoryLocation location = properties->location;
    const bool on_device = location.type == MemoryLocation::kDevice;
    call.Created(result, *handle, bytes, on_device ? location.id : -1,
                 on_device ? PLATEAU_MEMORY_DEVICE : PLATEAU_MEMORY_PINNED);
  }
};

struct VmmImport : Silent {
  using Type = int(uint64_t* handle, void* os_handle, int kind);
  static void After(const Call& call, int result, uint64_t* handle, void*, int) {
    if (result == kSuccess) call.Created(result, *handle, 0, -1, PLATEAU_MEMORY_IMPORTED);
  }
};

struct VmmRetain : Silent {
  using Type = int(uint64_t* handle, void* address);
  static void After(const Call& call, int result, uint64_t* handle, void*) {
    if (result == kSuccess) call.Handle(PLATEAU_DEVICE_RETAIN, *handle);
  }
};

struct VmmRelease : Silent {
  using Type = int(uint64_t handle);
  static void Before(const Call& call, uint64_t handle) { call.Handle(PLATEAU_DEVICE_RELEASE, handle); }
};

struct VmmMap : Silent {
  using Type = int(void* address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags);
  static void After(const Call& call, int result, void* address, size_t bytes, size_t, uint64_t handle,
                    uint64_t) {
    if (result == kSuccess) call.Mapped(address, bytes, handle);
  }
};

struct VmmUnmap : Silent {
  using Type = int(void* address, size_t bytes);
  static void Before(const Call& call, void* address, size_t bytes) {
    call.Range(PLATEAU_DEVICE_UNMAP, address, bytes);
  }
};

struct VmmReserve : Silent {
  using Type = int(void** address, size_t bytes, size_t alignment, void* hint, uint64_t flags);
  static void After(const Call& call, int result, void** address, size_t bytes, size_t, void*, uint64_t) {
    if (result == kSuccess) call.Range(PLATEAU_DEVICE_RESERVE, *address, bytes);
  }
};

struct VmmUnreserve : Silent {
  using Type = int(void* address, size_t bytes);
  static void Before(const Call& call, void* address, size_t bytes) {
    call.Range(PLATEAU_DEVICE_UNRESERVE, address, bytes);
  }
};

// ---- Graphs ----

struct GraphAlloc : Silent {
  using Type = int(void** node, void* graph, void* const* dependencies, size_t count,
                   GraphAllocParameters* parameters);
  static void After(const Call& call, int result, void**, void*, void* const*, size_t,
                    GraphAllocParameters* parameters) {
    call.AllocatedInGraph(result, parameters->pointer, parameters->bytes);
  }
};

struct GraphFree : Silent {
  using Type = int(void** node, void* graph, void* const* dependencies, size_t count, void* pointer);
  static void After(const Call& call, int result, void**, void*, void* const*, size_t, void* pointer) {
    if (result == kSuccess) call.FreeingInGraph(pointer);
  }
};

struct BeginCapture : Silent {
  using Type = int(void* stream, int mode);
  static void After(const Call& call, int result, void* stream, int mode) {
    if (result == kSuccess) call.CaptureBegan(stream, mode);
  }
};

struct BeginCaptureToGraph : Silent {
  using Type = int(void* stream, void* graph, const void* dependencies, const void* edges, size_t count,
                   int mode);
  static void After(const Call& call, int result, void* stream, void*, const void*, const void*, size_t,
                    int mode) {
    if (result == kSuccess) call.CaptureBegan(stream, mode);
  }
};

// An invalidated capture ends too, with an error.
struct EndCapture : Silent {
  static constexpr bool kTellsFailures = true;
  using Type = int(void* stream, void** graph);
  static void After(const Call& call, int, void* stream, void**) { call.CaptureEnded(stream); }
};

// ---- Teardown ----

struct DeviceReset : Silent {
  using Type = int();
  static void Before(const Call& call) { call.Reset(call.RuntimeDevice(), 0); }
};

struct PrimaryReset : Silent {
  using Type = int(int device);
  static void Before(const Call& call, int device) { call.Reset(device, 0); }
};

// The context lives on while others retain it.
struct PrimaryRelease : Silent {
  using Type = int(int device);
  static void After(const Call& call, int result, int device) {
    if (result == kSuccess && !IsPrimaryContextActive(device)) call.Reset(device, 0);
  }
};

struct ContextDestroy : Silent {
  using Type = int(void* context);
  static void Before(const Call& call, void* context) {
    if (context != nullptr) call.Reset(QueryContextDevice(context), reinterpret_cast<uint64_t>(context));
  }
};

// ---- Calls that hand out driver functions ----

inline void ReplaceHandedOut(int result, const char* name, void** function, int version) {
  if (result == kSuccess && name != nullptr && function != nullptr && *function != nullptr) {
    *function = WrapDriverFunction(name, *function, version);
  }
}

// Serves both ABIs of cuGetProcAddress: the older one has no `status`; its register is passed on as it came,
// unread.
struct ProcAddress : Silent {
  static constexpr bool kHandsOutFunctions = true;
  using Type = int(const char* name, void** function, int version, uint64_t flags, void* status);
  static void After(const Call&, int result, const char* name, void** function, int version, uint64_t,
                    void*) {
    ReplaceHandedOut(result, name, function, version);
  }
};

// Likewise: CUDA 11 has no `status` here. The runtime asks in its own version, which is 11.3 at least.
struct EntryPoint : Silent {
  static constexpr bool kHandsOutFunctions = true;
  using Type = int(const char* name, void** function, uint64_t flags, void* status);
  static void After(const Call&, int result, const char* name, void** function, uint64_t, void*) {
    ReplaceHandedOut(result, name, function, kAnyVersion);
  }
};

struct EntryPointByVersion : Silent {
  static constexpr bool kHandsOutFunctions = true;
  using Type = int(const char* name, void** function, unsigned version, uint64_t flags, void* status);
  static void After(const Call&, int result, const char* name, void** function, unsigned version, uint64_t,
                    void*) {
    ReplaceHandedOut(result, name, function, static_cast<int>(version));
  }
};

}  // namespace plateau::cuda

#endif  // PLATEAU_PRELOAD_CUDA_SIGNATURES_H_

#include "preload/cuda/call.h"

#include <time.h>

#include <atomic>

#include "preload/base/real_symbol.h"
#include "preload/cuda/capture_marks.h"
#include "preload/cuda/cuda_abi.h"
#include "preload/cuda/driver_queries.h"

namespace plateau::cuda {

constinit thread_local int CallDepth::depth_ = 0;

namespace {

constinit CaptureMarks g_captures;

// A pool is looked at once in this time at most. Reserved bytes change in large units and rarely.
constexpr int64_t kPoolPollIntervalNs = 5'000'000;
constinit std::atomic<int64_t> g_next_poll_ns{0};

// Reserved bytes last sent for a pool, so that an unchanged pool says nothing. Pools that share an entry only
// repeat.
constexpr size_t kKnownPools = 64;
constinit std::atomic<uint64_t> g_last_reserved[kKnownPools];

std::atomic<uint64_t>& LastReserved(const void* pool) {
  return g_last_reserved[(reinterpret_cast<uint64_t>(pool) >> 4) % kKnownPools];
}

// A refusal says how large the device is and how full.
void AddCapacity(struct plateau_device_event* event) {
  const DeviceCapacity capacity = QueryCapacity();
  event->total_bytes = capacity.used_bytes;
  event->reserved_bytes = capacity.total_bytes;
}

uint64_t Number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

struct plateau_device_event Call::Event(uint8_t op) const {
  struct plateau_device_event event {};
  event.op = op;
  event.level = info_.level;
  event.memory = info_.memory;
  event.graph = g_captures.IsCapturing(CallDepth::thread()) ? 1 : 0;
  event.device = -1;
  event.api = info_.name;
  event.frame = frame_;
  return event;
}

void Call::Allocated(int result, const void* pointer, uint64_t bytes) const {
  if (bytes == 0) return;
  if (result == kOutOfMemory) {
    struct plateau_device_event event = Event(PLATEAU_DEVICE_OOM);
    event.device = QueryCurrentContext().device;
    event.bytes = bytes;
    AddCapacity(&event);
    plateau_device_event(&event);
    return;
  }
  if (result != kSuccess || pointer == nullptr) return;
  struct plateau_device_event event = Event(PLATEAU_DEVICE_ALLOC);
  const CurrentContext current = QueryCurrentContext();
  event.device = current.device;
  event.handle = current.context;
  event.address = Number(pointer);
  event.bytes = bytes;
  plateau_device_event(&event);
}

void Call::AllocatedUnknownSize(int result, const void* pointer) const {
  if (result == kSuccess && pointer != nullptr) Allocated(result, pointer, QueryAllocationBytes(pointer));
}

void Call::AllocatedInGraph(int result, const void* pointer, uint64_t bytes) const {
  if (result != kSuccess || pointer == nullptr || bytes == 0) return;
  struct plateau_device_event event = Event(PLATEAU_DEVICE_ALLOC);
  event.device = QueryCurrentContext().device;
  event.graph = 1;
  event.address = Number(pointer);
  event.bytes = bytes;
  plateau_device_event(&event);
}

void Call::Freeing(const void* pointer) const {
  if (pointer == nullptr) return;
  struct plateau_device_event event = Event(PLATEAU_DEVICE_FREE);
  event.address = Number(pointer);
  plateau_device_event(&event);
}

void Call::FreeingInGraph(const void* pointer) const {
  if (pointer == nullptr) return;
  struct plateau_device_event event = Event(PLATEAU_DEVICE_FREE);
  event.graph = 1;
  event.address = Number(pointer);
  plateau_device_event(&event);
}

void Call::Created(int result, uint64_t handle, uint64_t bytes, int device, uint8_t memory) const {
  if (result != kSuccess && result != kOutOfMemory) return;
  struct plateau_device_event event = Event(result == kSuccess ? PLATEAU_DEVICE_CREATE : PLATEAU_DEVICE_OOM);
  event.memory = memory;
  event.device = static_cast<int16_t>(device);
  event.handle = result == kSuccess ? handle : 0;
  event.bytes = bytes;
  if (result == kOutOfMemory && QueryCurrentContext().device == device) AddCapacity(&event);
  plateau_device_event(&event);
}

void Call::Handle(uint8_t op, uint64_t handle) const {
  struct plateau_device_event event = Event(op);
  event.handle = handle;
  plateau_device_event(&event);
}

void Call::Mapped(const void* address, uint64_t bytes, uint64_t handle) const {
  struct plateau_device_event event = Event(PLATEAU_DEVICE_MAP);
  event.address = Number(address);
  event.bytes = bytes;
  event.handle = handle;
  plateau_device_event(&event);
}

void Call::Range(uint8_t op, const void* address, uint64_t bytes) const {
  struct plateau_device_event event = Event(op);
  event.address = Number(address);
  event.bytes = bytes;
  plateau_device_event(&event);
}

void Call::PoolCreated(const void* pool, int device) const {
  LastReserved(pool).store(0, std::memory_order_relaxed);
  struct plateau_device_event event = Event(PLATEAU_DEVICE_POOL);
  event.device = static_cast<int16_t>(device);
  event.handle = Number(pool);
  plateau_device_event(&event);
}

void Call::PoolDestroying(const void* pool) const {
  LastReserved(pool).store(0, std::memory_order_relaxed);
  struct plateau_device_event event = Event(PLATEAU_DEVICE_POOL);
  event.handle = Number(pool);
  plateau_device_event(&event);
}

void Call::PoolChanged(void* pool) const {
  const PoolState state = QueryPool(pool);
  if (!state.known) return;
  LastReserved(pool).store(state.reserved_bytes, std::memory_order_relaxed);
  struct plateau_device_event event = Event(PLATEAU_DEVICE_POOL);
  event.device = QueryCurrentContext().device;
  event.handle = Number(pool);
  event.bytes = state.reserved_bytes;
  event.total_bytes = state.used_bytes;
  plateau_device_event(&event);
}

void Call::Polled(void* pool_or_null) const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const int64_t now_ns = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  int64_t due = g_next_poll_ns.load(std::memory_order_relaxed);
  if (now_ns < due || g_captures.IsCapturing(CallDepth::thread())) return;
  if (!g_next_poll_ns.compare_exchange_strong(due, now_ns + kPoolPollIntervalNs, std::memory_order_relaxed))
    return;
  void* pool = pool_or_null != nullptr ? pool_or_null : QueryDevicePool(QueryCurrentContext().device);
  const PoolState state = QueryPool(pool);
  if (state.known && state.reserved_bytes != LastReserved(pool).load(std::memory_order_relaxed))
    PoolChanged(pool);
}

void Call::CaptureBegan(const void* stream, int mode) const {
  g_captures.Begin(stream, mode == kCaptureModeGlobal, CallDepth::thread());
  struct plateau_device_event event = Event(PLATEAU_DEVICE_CAPTURE);
  event.handle = Number(stream);
  event.bytes = 1;
  plateau_device_event(&event);
}

void Call::CaptureEnded(const void* stream) const {
  struct plateau_device_event event = Event(PLATEAU_DEVICE_CAPTURE);
  g_captures.End(stream);
  event.handle = Number(stream);
  event.bytes = 0;
  plateau_device_event(&event);
}

void Call::Reset(int device, uint64_t context) const {
  if (device < 0) return;
  struct plateau_device_event event = Event(PLATEAU_DEVICE_RESET);
  event.device = static_cast<int16_t>(device);
  event.handle = context;
  plateau_device_event(&event);
}

int Call::RuntimeDevice() const {
  auto* get_device = reinterpret_cast<int (*)(int*)>(FindRealSymbol("cudaGetDevice", return_address_));
  int device = -1;
  return get_device != nullptr && get_device(&device) == kSuccess ? device : -1;
}

}  // namespace plateau::cuda

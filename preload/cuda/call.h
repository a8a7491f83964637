// One wrapped CUDA call on its way: knows which call it is and turns what happened into events.
//
// Only the outermost wrapped call of a thread reports: cudaMalloc reaches cuMemAlloc inside libcudart, and
// both are wrapped. `CallDepth` counts them.
//
// Reentrancy: events are sent from the program's thread, before or after the real call, never around it.
// Allocates: never. Locks: none of our own. Throws: never. errno: callers restore it.
// Without libplateau.so nothing is asked and nothing is sent.
#ifndef PLATEAU_PRELOAD_CUDA_CALL_H_
#define PLATEAU_PRELOAD_CUDA_CALL_H_

#include <stddef.h>
#include <stdint.h>

#include "preload/recorder/device_event.h"

namespace plateau::cuda {

// A row of cuda_calls.inc.
struct CallInfo {
  const char* name;
  const char* lookup;  // what cuGetProcAddress() is asked for; "" if nothing
  int since_version;
  uint8_t level;   // plateau_device_level
  uint8_t memory;  // plateau_device_memory
};

// Counts the wrapped calls this thread is in.
class CallDepth {
 public:
  CallDepth() { ++depth_; }
  ~CallDepth() { --depth_; }
  CallDepth(const CallDepth&) = delete;
  CallDepth& operator=(const CallDepth&) = delete;

  static bool IsNested() { return depth_ != 0; }
  // An address that no other thread has.
  static const void* thread() { return &depth_; }

 private:
  static constinit thread_local int depth_;
};

class Call {
 public:
  Call(const CallInfo& info, const void* frame, const void* return_address)
      : info_(info), frame_(frame), return_address_(return_address) {}

  static bool HasRecorder() { return &plateau_device_event != nullptr; }

  // After the real call: memory obtained (result 0), refused (out of memory), or neither. A null pointer or
  // zero bytes is no allocation.
  void Allocated(int result, const void* pointer, uint64_t bytes) const;
  // The same for memory whose size the arguments do not tell.
  void AllocatedUnknownSize(int result, const void* pointer) const;
  // Memory that a graph will use: the graph's own whether or not a capture is under way.
  void AllocatedInGraph(int result, const void* pointer, uint64_t bytes) const;

  // Before the real call, because the address may be handed out again before it returns.
  void Freeing(const void* pointer) const;
  void FreeingInGraph(const void* pointer) const;

  // Virtual memory management: physical memory is created, mapped, unmapped and released by handles.
  void Created(int result, uint64_t handle, uint64_t bytes, int device, uint8_t memory) const;
  void Handle(uint8_t op, uint64_t handle) const;
  void Mapped(const void* address, uint64_t bytes, uint64_t handle) const;
  void Range(uint8_t op, const void* address, uint64_t bytes) const;

  // A pool's reserved and used bytes. `Polled` looks at the pool behind a stream-ordered call now and then.
  void PoolCreated(const void* pool, int device) const;
  void PoolDestroying(const void* pool) const;
  void PoolChanged(void* pool) const;
  void Polled(void* pool_or_null) const;

  void CaptureBegan(const void* stream, int mode) const;
  void CaptureEnded(const void* stream) const;

  // Everything of `device`, or of `context` there, is gone.
  void Reset(int device, uint64_t context) const;
  // The device a libcudart call of this caller is about, -1 if it does not say.
  int RuntimeDevice() const;

 private:
  struct plateau_device_event Event(uint8_t op) const;

  const CallInfo& info_;
  const void* frame_;
  const void* return_address_;
};

}  // namespace plateau::cuda

#endif  // PLATEAU_PRELOAD_CUDA_CALL_H_

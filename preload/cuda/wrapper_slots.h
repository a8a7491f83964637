// The wrappers of cuda_calls.inc: which real function stands behind each, and who gets which wrapper.
//
// A name may have several real functions in one process: two libcudarts, the default and the
// per-thread-stream variant that cuGetProcAddress() hands out under one name, ABI versions. Each real pointer
// gets a wrapper of its own ("slot"), so a wrapper never forwards to another caller's function. When a row's
// slots are used up the real pointer is handed out unwrapped and counted.
//
// Programs linked with -lcudart or -lcuda reach the exported wrappers instead; those forward to the library
// that the calling object was linked with.
//
// Reentrancy: all functions may be called from any thread at any time, also inside dlsym().
// Allocates: never. Locks: the loader's list lock only. Throws: never.
#ifndef PLATEAU_PRELOAD_CUDA_WRAPPER_SLOTS_H_
#define PLATEAU_PRELOAD_CUDA_WRAPPER_SLOTS_H_

#include <limits.h>
#include <stdint.h>

#include "preload/cuda/call.h"

namespace plateau::cuda {

// The rows of cuda_calls.inc, in their order.
enum class Row : int {
#define PLATEAU_CUDA_RUNTIME(name, signature, memory) k_##name,
#define PLATEAU_CUDA_DRIVER(name, lookup, since, signature, memory) k_##name,
#include "preload/cuda/cuda_calls.inc"
#undef PLATEAU_CUDA_RUNTIME
#undef PLATEAU_CUDA_DRIVER
  kCount
};
inline constexpr int kRowCount = static_cast<int>(Row::kCount);

// How many real functions of one row can be told apart.
inline constexpr int kSlotsPerRow = 8;

inline constexpr int kAnyVersion = INT_MAX;

extern const CallInfo kCalls[kRowCount];

// What to give a program instead of `real`, the answer to dlsym(handle, name). `real` itself if there is no
// wrapper.
void* WrapByName(const char* name, void* real);

// True if dlsym() answers for `name` are replaced.
bool IsWrappedName(const char* name);

// The same for a function that cuGetProcAddress() gave for `lookup` in ABI version `version`.
void* WrapDriverFunction(const char* lookup, void* real, int version);

// The real function behind a slot, never null once its wrapper was handed out.
void* RealOfSlot(Row row, int slot);

// The real function for an exported wrapper called from `return_address`; null without CUDA.
void* RealForCaller(Row row, const void* return_address);

// The wrapper of a slot; defined beside the wrappers.
void* WrapperOfSlot(Row row, int slot);

}  // namespace plateau::cuda

// Tells tests and the start-up report which wrappers were handed out by dlsym() and cuGetProcAddress(). Fills
// up to `capacity` entries, one per row handed out at least once, and returns how many there are.
struct plateau_cuda_handed_out {
  const char* name;
  uint32_t count;      // wrappers of different real functions
  uint32_t unwrapped;  // real functions that found no free slot
};
extern "C" __attribute__((visibility("default"))) int plateau_cuda_list_handed_out(
    struct plateau_cuda_handed_out* entries, int capacity);

#endif  // PLATEAU_PRELOAD_CUDA_WRAPPER_SLOTS_H_

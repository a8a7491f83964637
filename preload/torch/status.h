// Whether this part records, and the line that says what it could reach.
//
// The line goes into the trace as RecordInfo("torch", ...), again whenever it changes; the last one counts:
//   ranges armed (RecordFunction); tensors armed; C++ methods 10 of 13; end of pass from Python
//   ranges not armed: libtorch_cpu has an older RecordFunction layout; ...
//
// Allocates: never. Throws: never.
#ifndef PLATEAU_PRELOAD_TORCH_STATUS_H_
#define PLATEAU_PRELOAD_TORCH_STATUS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/sampler/sample_filter.h"

namespace plateau {

namespace internal {
extern std::atomic<bool> torch_is_on;       // StartTorch() was called
extern std::atomic<bool> torch_is_decided;  // libtorch was seen, and was armed or refused
// TorchOptions::recorded, once torch is decided; null: every tensor is reported.
extern std::atomic<const SampleFilter*> recorded_blocks;
void NoticeTorchSlowly();
}  // namespace internal

// True after StartTorch(): the hooks record.
inline bool TorchIsOn() { return internal::torch_is_on.load(std::memory_order_relaxed); }

// Arms what is not armed yet and was not refused; called by every hook that torch reaches, a load when all is
// decided.
inline void NoticeTorch() {
  if (!internal::torch_is_decided.load(std::memory_order_acquire)) [[unlikely]]
    internal::NoticeTorchSlowly();
}

// True for a storage that sampling left out, where a tag would change nothing: most small tensors. One load
// decides whether this part is on, torch is known and tensors are sampled, the next ask for the block.
inline bool IsLeftOut(const void* storage) {
  const SampleFilter* recorded = internal::recorded_blocks.load(std::memory_order_relaxed);
  return recorded != nullptr && !recorded->MayContain(reinterpret_cast<uintptr_t>(storage));
}

void RecordTorchStatus();

// The text of the line, cut to `capacity` with its NUL; returns its length. For tests.
size_t FormatTorchStatus(char* text, size_t capacity);

// True if an object whose file name starts with `base_name_prefix` is loaded.
bool IsLibraryLoaded(const char* base_name_prefix);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_STATUS_H_

// Torch in the traced process: what the recorder calls of this part.
//
// Nothing here needs torch: a program without it pays one look at the list of loaded objects at start-up. A
// C++ program has libtorch mapped when the constructor runs and is armed there. Python loads it later; the
// part is then armed by the first tensor (the CPU reporter hook) or by the first hooked method, whichever comes
// first, and so it is in a program that was attached to. libplateau.so wraps neither dlopen nor dlsym.
//
// A status line goes into the trace as RecordInfo("torch", ...), again whenever it changes; the last one counts:
//   ranges armed: steps, zero_grad and DataLoader fetches from RecordFunction; C++ methods: 10 of 13 ...
//   ranges not armed: this torch has an older RecordFunction layout; ...
//
// Until StartTorch() every hook of this part forwards and records nothing.
// Allocates: never itself (registering a callback allocates inside torch, under HookGuard). Throws: never.
#ifndef PLATEAU_PRELOAD_TORCH_START_H_
#define PLATEAU_PRELOAD_TORCH_START_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/recorder/parts.h"
#include "preload/sampler/sample_filter.h"

namespace plateau {

struct TorchOptions {
  bool op_names = false;  // a kOp mark for every operator, about 150 ns each
  // SampleSet::filter() where only recorded blocks may be tagged; null tags every tensor.
  const SampleFilter* recorded = nullptr;
};

// After the trace is open. kTorchPart calls it with what the environment says, unless PLATEAU_STEPS is 0.
void StartTorch(TorchOptions options = {});

extern const Part kTorchPart;

namespace internal {
extern std::atomic<bool> torch_is_on;       // StartTorch() was called
extern std::atomic<bool> torch_is_decided;  // libtorch was seen, and was armed or refused
// TorchOptions::recorded, once torch is decided; null: every tensor is reported.
extern std::atomic<const SampleFilter*> recorded_blocks;
void NoticeTorchSlowly();
}  // namespace internal

// True after StartTorch(): the hooks record.
inline bool TorchIsOn() { return internal::torch_is_on.load(std::memory_order_relaxed); }

// Arms what is not armed yet and was not refused. Every hook that torch reaches calls it; once all is decided
// it is one load.
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

#endif  // PLATEAU_PRELOAD_TORCH_START_H_

// Torch in the traced process: what the recorder calls of this part.
//
// Nothing here needs torch: a program without it pays one look at the list of loaded objects at start-up. A
// C++ program has libtorch mapped when the constructor runs and is armed there. Python loads it later; the
// part is then armed by the first tensor (the CPU reporter hook), by the first hooked method, or by the
// recorder's once-a-second tick, whichever comes first. libplateau.so wraps neither dlopen nor dlsym.
//
// Until StartTorch() every hook of this part forwards and records nothing.
// Allocates: never itself (registering a callback allocates inside torch, under HookGuard). Throws: never.
#ifndef PLATEAU_PRELOAD_TORCH_START_H_
#define PLATEAU_PRELOAD_TORCH_START_H_

#include "preload/recorder/parts.h"

namespace plateau {

class SampleFilter;

struct TorchOptions {
  bool op_names = false;  // a kOp mark for every operator, about 150 ns each
  // SampleSet::filter() where only recorded blocks may be tagged; null: every tensor is.
  const SampleFilter* recorded = nullptr;
};

// After the trace is open. kTorchPart calls it with what the environment says, unless PLATEAU_STEPS is 0.
void StartTorch(TorchOptions options = {});

extern const Part kTorchPart;

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_START_H_

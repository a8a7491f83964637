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

namespace plateau {

class SampleFilter;

struct TorchOptions {
  bool op_names = false;  // a kOp mark for every operator, about 150 ns each
  // SampleSet::filter() where only recorded blocks may be tagged; null: every tensor is.
  const SampleFilter* recorded = nullptr;
};

void StartTorch(TorchOptions options = {});  // from the shim's constructor, after the trace is open
void TorchOnForkChild();  // callbacks survive a fork; the child's trace gets its own status line

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_START_H_

// Torch's own ranges, by a RecordFunction callback registered without a torch header.
//
// at::addGlobalCallback takes a trivially copyable struct on the stack: two function pointers, a sampling
// probability and a byte per scope. Its layout has been the same since the function
// at::getStepCallbacksUnlessEmpty exists (1.13 to 2.x, checked on 1.13.1, 2.6.0 and 2.14.1), so that function
// is the guard: without it nothing is registered. If a range then has no readable name, the layout changed
// after all: the callbacks disarm themselves and say so.
//
// Each scope has callbacks of its own, because the scope of a range is an inline field we do not read.
//
// Torch copies its callbacks under a mutex, and allocates meanwhile. Whoever registers or removes one from inside such an
// allocation waits for himself for ever. So both happen only where torch is known to hold no lock: in a hook that torch
// calls as a function of its own (a tensor, an optimizer's method, a backward pass), and in the callbacks.
//
// Arming: any thread, any number of times; one wins. Callbacks: any thread; they record marks and call
// RecordFunction::name(), and removeCallback() when nobody wants them any more. Allocates: never itself. Throws: never. errno: as it was.
#ifndef PLATEAU_PRELOAD_TORCH_RECORD_FUNCTION_H_
#define PLATEAU_PRELOAD_TORCH_RECORD_FUNCTION_H_

#include <cstdint>

namespace plateau {

enum class RangeArming : uint8_t {
  kNotTried,
  kNoTorch,     // libtorch_cpu is not loaded (yet)
  kNoFunction,  // libtorch_cpu has no at::addGlobalCallback or no RecordFunction::name
  kOldLayout,   // the guard function is missing: an older struct
  kArmed,
  kDisarmed,  // armed, then a range had no readable name
};

// Registers the callbacks once libtorch_cpu is loaded. Cheap when it is already decided. Never from a hook of malloc or a tick.
RangeArming ArmRecordFunction(bool op_names);

RangeArming RecordFunctionState();

// The callbacks do nothing from here on, and the next one that is called takes all of them out of torch; ArmRecordFunction()
// puts them back. A torch that does not export the function for that keeps them. From anywhere.
void DisarmRecordFunction();

// The Engine::execute hook reports the backward passes: the per-node callback is not needed.
void BackwardIsHooked();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_RECORD_FUNCTION_H_

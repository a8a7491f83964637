// The slow step: unwinds with every register, for frames whose rule does not fit into a CfiRule.
//
// Such a frame may need rbx or r12-r15, which the walker does not track. So the walk starts again at the
// current instruction with the whole register file, goes up to the frame in question and one step further.
// Costs about 0.3 us per frame. Allocates: never. Locks: never. Memory is read only where the kernel says
// that it can be.
#ifndef PLATEAU_PRELOAD_UNWIND_FULL_STEP_H_
#define PLATEAU_PRELOAD_UNWIND_FULL_STEP_H_

#include "preload/unwind/dwarf_expression.h"
#include "preload/unwind/registers.h"

namespace plateau::unwind {

struct CallerState {
  Registers registers;
  bool is_exact = false;  // rip is the interrupted instruction, not a return address
};

// Frames the slow walk goes through before it gives up.
inline constexpr unsigned kMaxFullSteps = 1024;

// The caller of `frame`, a frame of this thread's stack above the function that calls this. False when there
// is none or it cannot be told.
bool StepWithAllRegisters(const Registers& frame, CallerState* caller);

// One step with all registers. `is_exact` says what registers.values[kRegisterReturn] is, before and after.
bool FullStep(RegisterFile* registers, bool* is_exact, WordReader* memory);

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_FULL_STEP_H_

// The groups of steps in which a trace that holds totals has its marks: what the recorder leaves out and the
// analyzer draws again.
#ifndef PLATEAU_PRELOAD_TRACE_MARK_GROUPS_H_
#define PLATEAU_PRELOAD_TRACE_MARK_GROUPS_H_

#include <cstdint>

#include "preload/trace/format.h"

namespace plateau::trace {

// Ends of steps in a group: a whole number of the cycles of two or four optimizers.
inline constexpr uint32_t kStepsOfAGroup = 8;

// Whether such a mark may be left out with its group. All others are always written.
constexpr bool IsOfAStep(MarkKind kind) {
  switch (kind) {
    case MarkKind::kStep:
    case MarkKind::kExplicitStep:
    case MarkKind::kZeroGrad:
    case MarkKind::kBackwardBegin:
    case MarkKind::kBackwardEnd:
    case MarkKind::kFetchBegin:
    case MarkKind::kFetchEnd:
    case MarkKind::kOptimizerBegin:
    case MarkKind::kOp:
      return true;
    default:
      return false;
  }
}

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_MARK_GROUPS_H_

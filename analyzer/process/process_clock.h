// The second stage: the steps and phases by which the events of a process are counted.
#ifndef PLATEAU_ANALYZER_PROCESS_PROCESS_CLOCK_H_
#define PLATEAU_ANALYZER_PROCESS_PROCESS_CLOCK_H_

#include <vector>

#include "analyzer/process/process_trace.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/series/clock/step_clock.h"
#include "analyzer/series/phase_map.h"

namespace plateau::process {

struct ProcessClock {
  series::StepClock steps;
  series::PhaseMap phases;           // always those of the process itself
  bool is_of_parent = false;         // the steps are those of the process that forked this one
  bool ended_before_parent = false;  // the parent went on to train without this process
};

// A process that trains nothing itself is counted in the steps of its parent, if `parent_marks` has any. One
// that has no steps at all is read once more, for a clock that stands in for them; equal stacks must be merged.
ProcessClock BuildClock(const ProcessTrace& trace, const std::vector<replay::TimedMark>& parent_marks,
                        FrameNames* names, int threads);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_PROCESS_CLOCK_H_

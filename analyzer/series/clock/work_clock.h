// A clock for a process without marks: reads its allocations once and finds what its steps may be counted in.
//
// In order of preference:
//   rounds  of a loop that is seen in the stacks, where all of its rounds are there (see loop_choice.h)
//   bytes   equal parts of what was allocated in the window of the work (see work_log.h)
//   time    equal slices of that window, where there are too few allocations to tell parts
// The last two know no step, so nothing that is said in them is a rate per step.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_WORK_CLOCK_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_WORK_CLOCK_H_

#include <cstdint>
#include <vector>

#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/series/clock/loops/loop_choice.h"
#include "analyzer/series/clock/step_clock.h"
#include "analyzer/series/clock/work_log.h"

namespace plateau::series {

struct WorkClockOptions {
  uint32_t parts = 100;
  int threads = 0;  // for decoding; 0: what the machine has
  double ticks_per_second = 0;
  uint64_t exact_from_bytes = 0;                 // a block of this size or more is always recorded
  LoopPlaces::FunctionOf function_of;            // without it native code has no loops
  decltype(LoopChoiceOptions::name_of) name_of;  // without it no loops are looked for
  decltype(LoopChoiceOptions::is_users) is_users;
};

WorkClock FindWorkClock(const reader::TraceReader& reader, const replay::Definitions& definitions,
                        const WorkEnd& end, const WorkClockOptions& options);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_WORK_CLOCK_H_

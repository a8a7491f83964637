// What the step clock found, in words: the steps and their source, what a step is made of, epochs,
// evaluations, and what could not be told. Pure.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_CLOCK_SENTENCE_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_CLOCK_SENTENCE_H_

#include <string>

#include "analyzer/series/clock/data_passes.h"
#include "analyzer/series/clock/loop_events.h"
#include "analyzer/series/clock/step_clock.h"

namespace plateau::series {

std::string DescribeClock(const StepClock& clock, const LoopEvents& events, const DataPasses& passes,
                          const MarkLog& log, const StepClockOptions& options);
// The same of a clock that stands in for steps.
std::string DescribeWork(const StepClock& clock, const WorkClock& work, const StepClockOptions& options);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_CLOCK_SENTENCE_H_

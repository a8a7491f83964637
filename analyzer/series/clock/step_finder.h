// Where the steps of a training loop end.
//
// Optimizer steps with no backward pass between them are one step (several optimizers, wrappers). Optimizers
// that take turns at different lines without a fetch in between are one step too (a GAN), provided they do so
// again and again. Gradients thrown away by zero_grad between two backward passes are a step that a gradient
// scaler skipped. Pure; n log n in the events.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_STEP_FINDER_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_STEP_FINDER_H_

#include <cstdint>
#include <vector>

#include "analyzer/series/clock/data_passes.h"
#include "analyzer/series/clock/loop_events.h"

namespace plateau::series {

struct StepEnd {
  uint64_t time;
  uint32_t optimizer_steps;  // 0 for a skipped step, and where no optimizer is seen
  bool is_skipped;
};

// From optimizer steps; empty when there are none.
std::vector<StepEnd> StepsOfOptimizers(const LoopEvents& events, const DataPasses& passes);

// From backward passes, when no optimizer is seen: one per zero_grad, else one per used fetch,
// else one per backward pass.
std::vector<StepEnd> StepsOfBackwards(const LoopEvents& events, const DataPasses& passes);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_STEP_FINDER_H_

// Evaluations that are seen by model.eval() and model.train() alone.
//
// The time from eval() to train(), or to the next backward pass, is an evaluation, with two exceptions:
//   - a backward pass follows and train() was not called before it: a part of the model was put into eval mode
//     and trained on (frozen normalisation), which is no evaluation;
//   - data are collected rather than judged (reinforcement learning): no loader feeds the training, the first
//     interval comes before the first backward pass, and one comes before each burst of training, all of the
//     same length. An evaluation comes after what it judges.
//
// Pure; n log n in the events.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_MODE_INTERVALS_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_MODE_INTERVALS_H_

#include <cstdint>
#include <vector>

#include "analyzer/series/clock/data_passes.h"
#include "analyzer/series/clock/loop_events.h"

namespace plateau::series {

std::vector<EvaluationPass> EvaluationsByMode(const LoopEvents& events, uint64_t end_time);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_MODE_INTERVALS_H_

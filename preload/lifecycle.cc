#include "preload/lifecycle.h"

#include "preload/recording.h"
#include "preload/stack_capture.h"
#include "preload/torch/start.h"
#include "preload/unwind/capture.h"

namespace plateau {

void StartParts() {
  if (g_options.steps) StartTorch();
}

void PartsOnForkChild() {
  unwind::ResetCaptureAfterFork();
  if (g_options.steps) TorchOnForkChild();
}

void PartsOnThreadEnd() {}

void PartsTick() {
  if (g_options.steps) TickTorch();
}

void PartsOnModulesGone() { unwind::BumpGeneration(kDefinitionSink); }

}  // namespace plateau

#include "preload/recorder/lifecycle.h"

#include "preload/python/start.h"
#include "preload/recorder/recording.h"
#include "preload/sampler/sample_set.h"
#include "preload/recorder/stack_capture.h"
#include "preload/torch/start.h"
#include "preload/unwind/capture.h"

namespace plateau {

void StartParts() {
  if (g_options.python) StartPython();
  if (g_options.steps) {
    const bool is_exact = g_options.mode == trace::Mode::kExact;
    StartTorch({.op_names = g_options.ops, .recorded = is_exact ? nullptr : g_sample_set.filter()});
  }
}

void PartsOnForkChild() {
  unwind::ResetCaptureAfterFork();
  PythonOnForkChild();
  if (g_options.steps) TorchOnForkChild();
}

void PartsOnThreadEnd() { PythonOnThreadEnd(); }

void PartsTick() {
  if (g_options.python) TickPython();
}

void PartsOnModulesGone() { unwind::BumpGeneration(kDefinitionSink); }

void PartsAtEnd() {
  if (g_options.python) PythonAtEnd();
}

}  // namespace plateau

#include "preload/recorder/stack_capture.h"

#include "preload/recorder/definitions.h"
#include "preload/python/merged_stack.h"
#include "preload/recorder/recording.h"
#include "preload/recorder/thread_buffer.h"
#include "preload/recorder/thread_state.h"
#include "preload/unwind/capture.h"

namespace plateau {

constinit const unwind::DefinitionSink kDefinitionSink = {
    .context = nullptr,
    .module = [](void*, const trace::ModuleRecord& record) { DefineModule(record); },
    .module_gone = [](void*, uint32_t module) { DefineModuleGone(module); },
    .location = [](void*, const trace::PcRecord& record) { DefinePc(record); },
    .node = [](void*, const trace::NodeRecord& record) { DefineNode(record); },
};

uint32_t CaptureStack(const unwind::Registers& registers) {
  return CaptureStack(t_thread.buffer->capture(), registers);
}

uint32_t CapturePythonStack(unwind::ThreadCapture& capture, const unwind::Registers& registers) {
  const bool full = g_options.python_native[0] == 'f';
  return python::CaptureMergedStack(capture, registers, kDefinitionSink,
                                    full ? python::NativeFrames::kFull : python::NativeFrames::kLeaf);
}

}  // namespace plateau

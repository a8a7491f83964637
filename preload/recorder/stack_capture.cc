#include "preload/recorder/stack_capture.h"

#include "preload/recorder/definitions.h"
#include "preload/recorder/thread_buffer.h"
#include "preload/recorder/thread_state.h"
#include "preload/unwind/capture.h"

namespace plateau {

constinit std::atomic<CaptureFunction> g_merged_capture{nullptr};

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

}  // namespace plateau

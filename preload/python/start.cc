#include "preload/python/start.h"

#include <errno.h>

#include <string_view>

#include "preload/base/fixed_text.h"
#include "preload/base/options.h"
#include "preload/python/interpreter.h"
#include "preload/python/merged_stack.h"
#include "preload/python/pymalloc.h"
#include "preload/python/python_nodes.h"
#include "preload/python/walk_scope.h"
#include "preload/recorder/stack_capture.h"
#include "preload/recorder/thread_state.h"
#include "preload/recorder/tracer.h"

namespace plateau {
namespace {

using python::InterpreterState;
using python::PymallocState;

// The status line was written for this state.
constinit InterpreterState g_reported = InterpreterState::kAbsent;
constinit bool g_reported_each = false;
constinit bool g_reported_end = false;

bool WantsPymalloc() { return g_options.python_alloc != PythonAlloc::kOff; }

std::string_view SamplingText() {
  if (python::RecordsEachObject()) return "every small object recorded";
  return g_options.python_alloc == PythonAlloc::kExact
             ? "small objects sampled since the trace came near its size limit, each recorded before"
             : "small objects sampled";
}

std::string_view PymallocText() {
  switch (python::GetPymallocState()) {
    case PymallocState::kSampling:
      return SamplingText();
    case PymallocState::kMalloc:
      return "small objects come from malloc";
    case PymallocState::kReplaced:
      return "small objects not seen: the allocator hooks were replaced";
    case PymallocState::kOff:
      break;
  }
  return WantsPymalloc() ? "small objects not seen: no allocator hooks yet" : "small objects not recorded";
}

void Report() {
  const InterpreterState state = python::g_interpreter_state.load(std::memory_order_acquire);
  g_reported = state;
  g_reported_each = python::RecordsEachObject();
  g_reported_end = python::HaveWalksEnded();
  if (state == InterpreterState::kAbsent) return;
  const python::Interpreter& interpreter = python::g_interpreter;
  FixedText<256> line;
  line << "CPython " << interpreter.version_text;
  if (state == InterpreterState::kUnsupported) {
    line << ": frames off (" << interpreter.refusal << ")";
  } else if (g_reported_end) {
    line << ": frames off since a thread stayed inside a walk while Python ended; " << PymallocText();
  } else {
    line << ": frames on; " << PymallocText();
  }
  RecordInfo("python", line.view());
}

uint32_t CaptureLeafFrames(unwind::ThreadCapture& capture, const unwind::Registers& registers) {
  return python::CaptureMergedStack(capture, registers, kDefinitionSink, python::NativeFrames::kLeaf);
}

uint32_t CaptureAllFrames(unwind::ThreadCapture& capture, const unwind::Registers& registers) {
  return python::CaptureMergedStack(capture, registers, kDefinitionSink, python::NativeFrames::kFull);
}

// What is freed from here on is teardown. Not from inside a hook, where the note would be a drop: a free of the
// program's own comes soon.
bool NoteExit() {
  if (t_thread.depth != 0) return false;
  const int saved_errno = errno;
  RecordMark(trace::MarkKind::kNote, trace::MarkSource::kCppHook, 0, "exit");
  errno = saved_errno;
  return true;
}

void StartInterpreter() {
  if (!python::Ready() || !python::InitializePythonNodes()) return;
  // It stays when the interpreter is unloaded: a merged capture without an interpreter is a native one.
  const bool is_full = g_options.python_native.c_str()[0] == 'f';
  g_merged_capture.store(is_full ? CaptureAllFrames : CaptureLeafFrames, std::memory_order_release);
  if (WantsPymalloc()) python::InstallPymalloc();
  python::ListenForFinalizing(NoteExit);
}

void Start() {
  if (!g_options.python) return;
  python::NoticeModules();
  StartInterpreter();
  Report();
}

void OnTick() {
  if (!g_options.python) return;
  python::NoticeModules();
  bool is_news = python::g_interpreter_state.load(std::memory_order_acquire) != g_reported;
  if (is_news) StartInterpreter();
  if (WantsPymalloc() && python::CheckPymalloc()) is_news = true;
  if (python::RecordsEachObject() != g_reported_each) is_news = true;
  if (python::HaveWalksEnded() != g_reported_end) is_news = true;
  if (is_news) Report();
}

void OnForkChild() {
  python::ResetWalkGuardInChild();
  python::ForgetPythonNodes();
  python::ResetPymallocInChild();
  g_reported = InterpreterState::kAbsent;  // the tick writes the line into the child's trace
}

// The guard of the walks stays as it is: threads have their flags of it.
void OnAttachAgain() {
  python::ForgetPythonNodes();
  python::ResetPymallocInChild();
  g_reported = InterpreterState::kAbsent;
}

void AtEnd() {
  if (g_options.python && python::HaveWalksEnded() != g_reported_end) Report();
}

}  // namespace

constinit const Part kPythonPart = {
    .start = Start,
    .on_fork_child = OnForkChild,
    .on_thread_end = python::ReleaseWalkFlag,
    .on_tick = OnTick,
    .before_modules_go = python::BeforeModulesGo,
    .after_modules_went = python::AfterModulesWent,
    .at_end = AtEnd,
    .on_detach = python::LeavePymalloc,
    .on_attach_again = OnAttachAgain,
};

}  // namespace plateau

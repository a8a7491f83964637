#include "preload/python/holders/look.h"

#include <errno.h>

#include "preload/base/fixed_text.h"
#include "preload/ledger/ledger.h"
#include "preload/python/holders/holder_report.h"
#include "preload/python/holders/object_walk.h"
#include "preload/python/holders/tables/walk_clock.h"
#include "preload/python/holders/target_choice.h"
#include "preload/python/interpreter.h"
#include "preload/python/walk_scope.h"
#include "preload/recorder/event.h"
#include "preload/recorder/file/trace_sink.h"
#include "preload/recorder/step_count.h"
#include "preload/recorder/tracer.h"

namespace plateau::python::holders {
namespace {

using trace::WalkReason;
using trace::WalkResult;

constexpr uint64_t kMaxOwnBytes = uint64_t{1} << 30;
constexpr uint64_t kLeastOwnBytes = uint64_t{8} << 20;

enum class State : uint8_t { kUnknown, kReady, kRefused };
constinit State g_state = State::kUnknown;
constinit HeapLayout g_layout = {};
constinit HeapFunctions g_functions = {};

constinit uint64_t g_walks = 0;

void WriteHolder(void* buffer, const trace::HolderRecord& record) {
  static_cast<ThreadBuffer*>(buffer)->Append([&](trace::BlockWriter& w) { return w.Holder(record); });
}

void WriteWalk(ThreadBuffer* buffer, const trace::HolderWalkRecord& record) {
  buffer->StampTime();
  buffer->Append([&](trace::BlockWriter& w) { return w.HolderWalk(record); });
}

// Fills the record. The records of the chains are written on the way.
void Walk(ThreadBuffer* buffer, WalkClock* clock, uint64_t limit_ns, const uint32_t* stacks,
          trace::HolderWalkRecord* record) {
  if (!HasLiveTable()) {
    record->result = WalkResult::kSkippedNoTable;
    return;
  }
  const uint64_t left = MemoryLeft() / 8;
  const uint64_t limit_bytes = left < kMaxOwnBytes ? left : kMaxOwnBytes;
  if (limit_bytes < kLeastOwnBytes) {
    record->result = WalkResult::kSkippedMemory;
    record->limit = limit_bytes;
    return;
  }
  WalkMemory memory(limit_bytes);
  auto* const targets = memory.TakeArray<TargetTable>(1);
  if (targets == nullptr || Look() == 0) {
    record->result = targets == nullptr ? WalkResult::kSkippedMemory : WalkResult::kSkippedNoTargets;
    return;
  }
  Choose(IsAskedFor(record->reason) ? Wanted::kAny : Wanted::kGrown, stacks, targets);
  record->targets_asked = targets->count();
  if (targets->count() == 0) {
    record->result = WalkResult::kSkippedNoTargets;
    return;
  }
  // The names of what was found are to be written within the limit too.
  clock->SetLimit(limit_ns - limit_ns / 8);
  ObjectWalk walk(g_layout, g_functions, &memory, targets, clock);
  const ObjectWalk::End end = walk.Run();
  record->result = end == ObjectWalk::End::kTime     ? WalkResult::kCutByTime
                   : end == ObjectWalk::End::kMemory ? WalkResult::kCutByMemory
                                                     : WalkResult::kDone;
  if (end == ObjectWalk::End::kTime) record->limit = limit_ns;
  if (end == ObjectWalk::End::kMemory) record->limit = limit_bytes;
  PathNamer namer(g_layout, g_functions, walk.nodes(), &walk.types());
  HolderReport report(&walk, targets, &namer, &memory);
  buffer->StampTime();
  report.Write(record->walk, {buffer, WriteHolder});
  record->objects = walk.nodes().size();
  record->garbage_objects = walk.garbage_objects();
  record->frozen_objects = walk.frozen_objects();
  for (size_t i = 0; i < targets->count(); ++i) {
    if ((*targets)[i].end != trace::HolderEnd::kNotFound) ++record->targets_found;
    const uint32_t node = (*targets)[i].node;
    if (node != 0 && walk.IsGarbage(node) && !walk.IsFrozen(node))
      record->garbage_bytes += (*targets)[i].bytes;
  }
  record->own_bytes = memory.used_bytes();
}

}  // namespace

bool FindInterpreter() {
  if (g_state != State::kUnknown) return g_state == State::kReady;
  const char* const refusal = FindHeapLayout(&g_layout, &g_functions);
  g_state = refusal == nullptr ? State::kReady : State::kRefused;
  if (refusal != nullptr) {
    FixedText<160> text;
    text << "not looked for on CPython " << g_interpreter.version_text << ": " << refusal;
    RecordInfo("holders", text.view());
  }
  return g_state == State::kReady;
}

const HeapFunctions& InterpreterFunctions() { return g_functions; }

int InterpreterMinor() { return g_layout.minor; }

bool IsAskedFor(WalkReason reason) {
  return reason == WalkReason::kRequest || reason == WalkReason::kProgram;
}

bool IsImporting() {
  const Layout& layout = g_interpreter.layout;
  constexpr int kInnermost = 4;
  const void* thread = g_functions.first_thread(g_functions.main_interpreter());
  for (; thread != nullptr; thread = ReadPointer(thread, kThreadNext)) {
    const void* frame = ReadPointer(thread, layout.tstate_frame);
    if (layout.root == FrameRoot::kCFrame && frame != nullptr)
      frame = ReadPointer(frame, layout.cframe_frame);
    for (int i = 0; frame != nullptr && i < kInnermost;
         frame = ReadPointer(frame, layout.frame_previous), ++i) {
      const void* const code = StackReference(frame, layout.frame_code);
      if (code == nullptr || ReadPointer(code, kObjectType) != g_interpreter.code_type) continue;
      if (IsImportMachinery(code)) return true;
    }
  }
  return false;
}

bool IsInMainInterpreter() {
  const void* const state = g_interpreter.this_thread_state();
  return state != nullptr && g_functions.unchecked_state() == state &&
         ReadPointer(state, kThreadInterpreter) == g_functions.main_interpreter();
}

LookResult WalkAndRecord(WalkReason reason, uint64_t limit_ns) {
  EventScope scope;
  if (!scope) return {};
  const OwnCallScope own(scope.thread());
  const int saved_errno = errno;
  WalkClock clock;
  trace::HolderWalkRecord record = {};
  record.walk = ++g_walks;
  record.reason = reason;
  record.step = StepsMarked();
  CollectorState collector;
  const bool has_collector = FindCollector(g_layout, g_functions, &collector);
  record.gc_disabled = has_collector && *collector.enabled == 0;
  uint32_t stacks[5] = {};
  if (reason == WalkReason::kRequest && g_sink.header() != nullptr) {
    for (int i = 0; i < 4; ++i)
      stacks[i] = __atomic_load_n(&g_sink.header()->holder_stacks[i], __ATOMIC_RELAXED);
  }
  if (has_collector && *collector.collecting != 0) {
    record.result = WalkResult::kSkippedCollecting;
  } else {
    Walk(scope.buffer(), &clock, limit_ns, stacks, &record);
  }
  record.elapsed_ns = clock.ElapsedNs();
  WriteWalk(scope.buffer(), record);
  LookResult result;
  if (record.result < WalkResult::kSkippedBudget) result.found = static_cast<int>(record.targets_found);
  result.used_ns = clock.UsedNs();
  result.was_cut_by_time = record.result == WalkResult::kCutByTime;
  errno = saved_errno;
  return result;
}

void RecordSkip(WalkReason reason, WalkResult result) {
  EventScope scope;
  if (!scope) return;
  trace::HolderWalkRecord record = {};
  record.walk = ++g_walks;
  record.reason = reason;
  record.result = result;
  record.step = StepsMarked();
  WriteWalk(scope.buffer(), record);
}

void ForgetWalks() {
  g_walks = 0;
  ForgetLooks();
}

}  // namespace plateau::python::holders

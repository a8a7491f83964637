#include "preload/python/holders/schedule.h"

#include <errno.h>

#include <atomic>

#include "preload/base/fixed_text.h"
#include "preload/base/options.h"
#include "preload/base/raw_log.h"
#include "preload/base/system_call.h"
#include "preload/ledger/ledger.h"
#include "preload/python/holders/heap_layout.h"
#include "preload/python/holders/holder_report.h"
#include "preload/python/holders/object_walk.h"
#include "preload/python/holders/target_choice.h"
#include "preload/python/holders/walk_clock.h"
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
constexpr int kMaxDelays = 60;  // ticks in which it was never the moment for a walk

enum class State : uint8_t { kUnknown, kReady, kRefused };
constinit State g_state = State::kUnknown;
constinit HeapLayout g_layout = {};
constinit HeapFunctions g_functions = {};

constinit std::atomic<bool> g_is_ticking{false};
constinit std::atomic<bool> g_is_pending{false};
constinit std::atomic<bool> g_is_walking{false};
constinit std::atomic<uint64_t> g_generation{0};  // forks and detaches
constinit WalkReason g_due = {};
constinit int g_delays = 0;
constinit uint64_t g_walks = 0;
constinit bool g_has_baseline = false;  // what was alive early is known, so that growth is
constinit uint64_t g_next_step = kFirstStep;
constinit uint64_t g_next_seconds = kFirstSeconds;
constinit uint64_t g_answered = 0;
constinit uint64_t g_start_tsc = 0;
constinit uint64_t g_spent_ns = 0;
// For the next look: some more than the last one took, or twice as much when it was cut.
constinit uint64_t g_needed_ns = 0;

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

void WriteHolder(void* buffer, const trace::HolderRecord& record) {
  static_cast<ThreadBuffer*>(buffer)->Append([&](trace::BlockWriter& w) { return w.Holder(record); });
}

// What looks that nobody asked for may still take.
uint64_t BudgetLeftNs() {
  const uint64_t allowed_ns = NsOfTicks(Now() - g_start_tsc) / kBudgetShare;
  return allowed_ns > g_spent_ns ? allowed_ns - g_spent_ns : 0;
}

// Adding up the live blocks, before there is anything to look for.
bool CanAffordLook() {
  constexpr uint64_t kNsPerBlock = 20, kFixedNs = 100'000;
  return BudgetLeftNs() / 2 >= kFixedNs + kNsPerBlock * LiveBlocks();
}

bool IsAskedFor(WalkReason reason) {
  return reason == WalkReason::kRequest || reason == WalkReason::kProgram;
}

// Whether a thread is at this moment inside the machinery of import, not only in a module that is being imported.
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
      const void* const code = ReadPointer(frame, layout.frame_code);
      if (code == nullptr || ReadPointer(code, kObjectType) != g_interpreter.code_type) continue;
      if (IsImportMachinery(code)) return true;
    }
  }
  return false;
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
    if ((*targets)[i].node != 0 && walk.IsGarbage((*targets)[i].node))
      record->garbage_bytes += (*targets)[i].bytes;
  }
  record->own_bytes = memory.used_bytes();
}

int WalkAndRecord(WalkReason reason, uint64_t limit_ns) {
  EventScope scope;
  if (!scope) return -1;
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
  const uint64_t used_ns = clock.UsedNs();
  if (!IsAskedFor(reason)) g_spent_ns += used_ns;
  g_needed_ns = record.result == WalkResult::kCutByTime ? 2 * used_ns : used_ns + used_ns / 4;
  errno = saved_errno;
  return record.result < WalkResult::kSkippedBudget ? static_cast<int>(record.targets_found) : -1;
}

void Skip(WalkReason reason, WalkResult result) {
  EventScope scope;
  if (!scope) return;
  trace::HolderWalkRecord record = {};
  record.walk = ++g_walks;
  record.reason = reason;
  record.result = result;
  record.step = StepsMarked();
  WriteWalk(scope.buffer(), record);
}

// What is due next, once this is done.
void Settle(WalkReason reason) {
  if (reason == WalkReason::kSteps) {
    while (g_next_step <= StepsMarked()) g_next_step *= 2;
  } else if (reason == WalkReason::kTime) {
    const uint64_t seconds = (Now() - g_start_tsc) / (TicksOfMs(1000) + 1);
    while (g_next_seconds <= seconds) g_next_seconds *= 2;
  }
  g_delays = 0;
}

// Tells who asked that the answer is in the trace.
void Answer() {
  trace::FileHeader* const header = g_sink.header();
  if (header == nullptr) return;
  g_answered = __atomic_load_n(&header->holder_request, __ATOMIC_ACQUIRE);
  __atomic_store_n(&header->holder_answer, g_answered, __ATOMIC_RELEASE);
}

// Whether this thread has the lock, in the interpreter whose modules and threads are walked.
bool IsInMainInterpreter() {
  const void* const state = g_interpreter.this_thread_state();
  return state != nullptr && g_functions.unchecked_state() == state &&
         ReadPointer(state, kThreadInterpreter) == g_functions.main_interpreter();
}

// In the main thread, between two bytecodes, with the interpreter's lock.
int OnPendingCall(void* argument) {
  if (reinterpret_cast<uintptr_t>(argument) != g_generation.load()) return 0;  // of the parent, before a fork
  const WalkReason reason = g_due;
  if (!IsFinalizing() && g_functions.is_initialized() != 0 && IsInMainInterpreter() &&
      !g_is_walking.exchange(true)) {
    if (IsImporting()) {
      if (++g_delays > kMaxDelays) {
        Skip(reason, WalkResult::kSkippedImport);
        if (reason == WalkReason::kRequest) Answer();
        Settle(reason);
      }
    } else {
      const uint64_t budget_ns = BudgetLeftNs();
      WalkAndRecord(reason, IsAskedFor(reason) || budget_ns > kMaxWalkNs ? kMaxWalkNs : budget_ns);
      if (reason == WalkReason::kRequest) Answer();
      Settle(reason);
    }
    g_is_walking.store(false);
  }
  g_is_pending.store(false);
  return 0;
}

// Whether a look is due, and why.
bool IsDue(WalkReason* reason) {
  const trace::FileHeader* const header = g_sink.header();
  if (header != nullptr && g_sink.shared()) {
    const uint64_t request = __atomic_load_n(&header->holder_request, __ATOMIC_ACQUIRE);
    if (request != g_answered && request != 0) {
      *reason = WalkReason::kRequest;
      return true;
    }
  }
  if (!g_options.holders) return false;
  const uint64_t steps = StepsMarked();
  if (steps >= g_next_step) {
    *reason = WalkReason::kSteps;
  } else if (steps < kFirstStep && Now() - g_start_tsc >= TicksOfMs(1000) * g_next_seconds) {
    *reason = WalkReason::kTime;
  } else {
    return false;
  }
  const uint64_t needed_ns = g_needed_ns > kLeastWalkNs ? g_needed_ns : kLeastWalkNs;
  return BudgetLeftNs() >= (needed_ns < kMaxWalkNs ? needed_ns : kMaxWalkNs);
}

void TakeBaseline() {
  const bool is_early =
      StepsMarked() < kFirstStep / 2 && Now() - g_start_tsc < TicksOfMs(500) * kFirstSeconds;
  if (is_early || !HasLiveTable() || !CanAffordLook()) return;
  const WalkClock clock;
  Look();
  g_spent_ns += clock.UsedNs();
  g_has_baseline = true;
}

int DoNothing(void*) { return 0; }

// From 3.9 to 3.11 a call that another thread has asked for is not seen by a main thread that nothing else stops. One
// that the main thread asks for itself makes it look.
void WakeMainThread() {
  if (g_layout.minor >= 12 || sys::Gettid() != sys::Getpid()) return;
  g_functions.add_pending_call(DoNothing, nullptr);
}

void OnTick() {
  if (!Ready()) return;
  if (g_is_ticking.exchange(true, std::memory_order_acquire)) return;
  if (g_start_tsc == 0) g_start_tsc = Now();
  WalkReason reason = {};
  if (g_is_pending.load(std::memory_order_relaxed)) {
    WakeMainThread();
  } else if (IsDue(&reason)) {
    if (FindInterpreter() && g_functions.is_initialized() != 0 && !IsFinalizing()) {
      g_due = reason;
      g_is_pending.store(true);
      void* const argument = reinterpret_cast<void*>(g_generation.load());
      if (g_functions.add_pending_call(OnPendingCall, argument) != 0) g_is_pending.store(false);
    }
  } else if (g_options.holders && !g_has_baseline) {
    TakeBaseline();
  }
  g_is_ticking.store(false, std::memory_order_release);
}

void ResetInChild() {
  g_generation.fetch_add(1);
  g_is_ticking.store(false);
  g_is_pending.store(false);
  g_is_walking.store(false);
  g_delays = 0;
  g_walks = 0;
  g_has_baseline = false;
  g_next_step = kFirstStep;
  g_next_seconds = kFirstSeconds;
  g_answered = 0;
  g_start_tsc = 0;
  g_spent_ns = 0;
  g_needed_ns = 0;
  ForgetLooks();
}

// The call that is pending in the interpreter is of the recording that ends.
void Leave() { g_generation.fetch_add(1); }

}  // namespace

int LookNow(WalkReason reason) {
  if (!Ready() || !Enabled() || InHook() || !FindInterpreter()) return -1;
  if (g_functions.is_initialized() == 0 || IsFinalizing()) return -1;
  if (!IsInMainInterpreter() || g_is_walking.exchange(true)) return -1;
  const int found = WalkAndRecord(reason, kMaxWalkNs);
  g_is_walking.store(false);
  return found;
}

}  // namespace plateau::python::holders

namespace plateau {
constinit const Part kHoldersPart = {
    .on_fork_child = python::holders::ResetInChild,
    .on_tick = python::holders::OnTick,
    .on_detach = python::holders::Leave,
    .on_attach_again = python::holders::ResetInChild,
};
}  // namespace plateau

extern "C" __attribute__((visibility("default"), used)) int plateau_mark_holders(void) {
  return plateau::python::holders::LookNow(plateau::trace::WalkReason::kProgram);
}

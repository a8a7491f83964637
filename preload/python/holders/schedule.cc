#include "preload/python/holders/schedule.h"

#include <atomic>

#include "preload/base/options.h"
#include "preload/base/system_call.h"
#include "preload/python/holders/look.h"
#include "preload/python/holders/tables/walk_clock.h"
#include "preload/python/holders/target_choice.h"
#include "preload/python/interpreter.h"
#include "preload/python/walk_scope.h"
#include "preload/recorder/file/trace_sink.h"
#include "preload/recorder/step_count.h"
#include "preload/recorder/tracer.h"

namespace plateau::python::holders {
namespace {

using trace::WalkReason;
using trace::WalkResult;

constexpr int kMaxDelays = 60;  // ticks in which it was never the moment for a walk

constinit std::atomic<bool> g_is_ticking{false};
constinit std::atomic<bool> g_is_pending{false};
constinit std::atomic<bool> g_is_walking{false};
constinit std::atomic<uint64_t> g_generation{0};  // forks and detaches
constinit WalkReason g_due = {};
constinit int g_delays = 0;
constinit bool g_has_baseline = false;  // what was alive early is known, so that growth is
constinit uint64_t g_next_step = kFirstStep;
constinit uint64_t g_next_seconds = kFirstSeconds;
constinit uint64_t g_answered = 0;
constinit uint64_t g_start_tsc = 0;
constinit uint64_t g_spent_ns = 0;
// For the next look: some more than the last one took, or twice as much when it was cut.
constinit uint64_t g_needed_ns = 0;

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

// Returns the number of targets found, -1 when there was no walk.
int LookAndAccount(WalkReason reason, uint64_t limit_ns) {
  const LookResult result = WalkAndRecord(reason, limit_ns);
  if (result.used_ns == 0) return -1;
  if (!IsAskedFor(reason)) g_spent_ns += result.used_ns;
  g_needed_ns = result.was_cut_by_time ? 2 * result.used_ns : result.used_ns + result.used_ns / 4;
  return result.found;
}

// In the main thread, between two bytecodes, with the interpreter's lock.
int OnPendingCall(void* argument) {
  if (reinterpret_cast<uintptr_t>(argument) != g_generation.load()) return 0;  // of the parent, before a fork
  const WalkReason reason = g_due;
  if (!IsFinalizing() && InterpreterFunctions().is_initialized() != 0 && IsInMainInterpreter() &&
      !g_is_walking.exchange(true)) {
    if (IsImporting()) {
      if (++g_delays > kMaxDelays) {
        RecordSkip(reason, WalkResult::kSkippedImport);
        if (reason == WalkReason::kRequest) Answer();
        Settle(reason);
      }
    } else {
      const uint64_t budget_ns = BudgetLeftNs();
      LookAndAccount(reason, IsAskedFor(reason) || budget_ns > kMaxWalkNs ? kMaxWalkNs : budget_ns);
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
  if (InterpreterMinor() >= 12 || sys::Gettid() != sys::Getpid()) return;
  InterpreterFunctions().add_pending_call(DoNothing, nullptr);
}

void OnTick() {
  if (!Ready()) return;
  if (g_is_ticking.exchange(true, std::memory_order_acquire)) return;
  if (g_start_tsc == 0) g_start_tsc = Now();
  WalkReason reason = {};
  if (g_is_pending.load(std::memory_order_relaxed)) {
    WakeMainThread();
  } else if (IsDue(&reason)) {
    if (FindInterpreter() && InterpreterFunctions().is_initialized() != 0 && !IsFinalizing()) {
      g_due = reason;
      g_is_pending.store(true);
      void* const argument = reinterpret_cast<void*>(g_generation.load());
      if (InterpreterFunctions().add_pending_call(OnPendingCall, argument) != 0) g_is_pending.store(false);
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
  g_has_baseline = false;
  g_next_step = kFirstStep;
  g_next_seconds = kFirstSeconds;
  g_answered = 0;
  g_start_tsc = 0;
  g_spent_ns = 0;
  g_needed_ns = 0;
  ForgetWalks();
}

// The call that is pending in the interpreter is of the recording that ends.
void Leave() { g_generation.fetch_add(1); }

}  // namespace

int LookNow(WalkReason reason) {
  if (!Ready() || !Enabled() || InHook() || !FindInterpreter()) return -1;
  if (InterpreterFunctions().is_initialized() == 0 || IsFinalizing()) return -1;
  if (!IsInMainInterpreter() || g_is_walking.exchange(true)) return -1;
  const int found = LookAndAccount(reason, kMaxWalkNs);
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

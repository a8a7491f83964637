#include "preload/attach/attach.h"

#include <atomic>

#include "preload/attach/hooked_functions.h"
#include "preload/attach/import_patcher.h"
#include "preload/base/clock.h"
#include "preload/base/fixed_text.h"
#include "preload/base/real_symbol.h"
#include "preload/hooks/signal_hooks.h"
#include "preload/ledger/ledger.h"
#include "preload/recorder/file/trace_sink.h"
#include "preload/recorder/ledger_events.h"
#include "preload/recorder/recording.h"
#include "preload/recorder/tracer.h"

namespace plateau {
namespace {

constexpr size_t kMaxOptions = 64;
// A library that is being opened is ready some time after the call began. Ticks come 50 ms apart then.
constexpr int kLooksAfterNews = 40;

constinit std::atomic<bool> g_is_leading{false};  // hooks are in the program
// A thread leads words, to hooks or back: a look that ended after a detach would leave hooks behind for good.
constinit std::atomic<bool> g_is_at_work{false};
constinit unsigned long long g_seen_adds = 0;
constinit int g_looks_left = 0;
constinit PatchResult g_result = {};
constinit uint64_t g_end_tsc = 0;
constinit uint64_t g_end_after_steps = 0;

trace::AttachState StateInHeader() {
  return static_cast<trace::AttachState>(__atomic_load_n(&g_sink.header()->attach_state, __ATOMIC_ACQUIRE));
}
void SetStateInHeader(trace::AttachState state) {
  __atomic_store_n(&g_sink.header()->attach_state, static_cast<uint32_t>(state), __ATOMIC_RELEASE);
}

// The next event is a tick.
void AskForTick() { g_next_ledger_tsc.store(0, std::memory_order_relaxed); }

void Look() {
  g_seen_adds = ModulesLoadedSoFar();
  g_result = LeadToHooks();
  // The loader was at work on a module: what it is when that is done, the next look sees.
  if (g_result.modules_in_work > 0) {
    g_seen_adds = 0;
    g_looks_left = kLooksAfterNews;
  }
}

void LookForNews() {
  if (TookModuleNews()) g_looks_left = kLooksAfterNews;
  if (ModulesLoadedSoFar() != g_seen_adds) {
    Look();
  } else if (g_looks_left > 0) {
    --g_looks_left;
  }
  if (g_looks_left > 0) AskForTick();
}

bool IsOver() {
  if (StateInHeader() == trace::AttachState::kDetachWanted) return true;
  if (g_end_tsc != 0 && Now() >= g_end_tsc) return true;
  return g_end_after_steps != 0 && StepMarksSoFar() >= g_end_after_steps;
}

void SayInHeader() {
  __atomic_store_n(&g_sink.header()->tick_address, reinterpret_cast<uint64_t>(&g_next_ledger_tsc),
                   __ATOMIC_RELAXED);
  SetStateInHeader(trace::AttachState::kAttached);
}

void Leave() {
  g_is_leading.store(false, std::memory_order_release);
  StopLate(t_thread);
  SetStateInHeader(trace::AttachState::kDetached);
}

void OnTick() {
  if (!g_is_leading.load(std::memory_order_acquire)) return;
  if (StateInHeader() == trace::AttachState::kFromStart) SayInHeader();
  const bool is_over = IsOver();
  if (g_is_at_work.exchange(true, std::memory_order_acquire)) {
    if (is_over) AskForTick();
    return;
  }
  if (g_is_leading.load(std::memory_order_relaxed)) is_over ? Leave() : LookForNews();
  g_is_at_work.store(false, std::memory_order_release);
}

// A child has the words of its parent, and a trace of its own, in which it says so on its first tick.
void OnForkInChild() {
  g_is_at_work.store(false, std::memory_order_relaxed);
  g_end_after_steps = 0;
}

void OnDetach() {
  LeadBack();
  StopGuarding();
}

// The strings of the request as a list. The last place stays null.
void ListOptions(AttachRequest* request, char* (&list)[kMaxOptions + 1]) {
  size_t count = 0;
  request->options[AttachRequest::kOptionBytes - 1] = 0;
  char* const end = request->options + AttachRequest::kOptionBytes;
  for (char* p = request->options; p < end && *p != 0 && count < kMaxOptions; ++p) {
    list[count++] = p;
    while (*p != 0) ++p;
  }
}

AttachResult Attach(AttachRequest* request) {
  if (request->version != kAttachVersion) return AttachResult::kOtherVersion;
  g_opened_late = true;
  g_code_on_the_way = {request->blob_begin, request->blob_end};
  char* options[kMaxOptions + 1] = {};
  ListOptions(request, options);
  switch (StartLate(options)) {
    case LateStart::kStarted:
      break;
    case LateStart::kRecordsAlready:
      return AttachResult::kRecordsAlready;
    case LateStart::kThreadInside:
      return AttachResult::kThreadInside;
    case LateStart::kNoTrace:
      return AttachResult::kNoTrace;
  }
  const HookGuard guard;
  if (!g_sink.shared()) {
    StopLate(t_thread);
    return AttachResult::kNotShared;
  }
  g_end_tsc = request->end_after_ms == 0 ? 0 : Now() + TicksOfMs(request->end_after_ms);
  g_end_after_steps = request->end_after_steps == 0 ? 0 : StepMarksSoFar() + request->end_after_steps;
  SayInHeader();
  GuardMappedTrace();
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  Look();
  request->patched_ns = ClockNs(CLOCK_MONOTONIC) - begin_ns;
  request->words = g_result.words;
  request->modules = g_result.modules;
  request->modules_left_out = g_result.modules_left_out + g_result.modules_in_work;
  request->program_imports = g_result.program_imports;
  if (t_thread.buffer != nullptr) {
    RecordAttach(t_thread.buffer, {.number = RecordingNumber(),
                                   .words = request->words,
                                   .modules = request->modules,
                                   .modules_left_out = request->modules_left_out,
                                   .held_ns = ClockNs(CLOCK_MONOTONIC) - begin_ns,
                                   .program_imports = request->program_imports != 0});
  }
  g_looks_left = kLooksAfterNews;  // a word that was bound while we looked
  g_is_leading.store(true, std::memory_order_release);
  AskForTick();
  return AttachResult::kAttached;
}

}  // namespace

constinit const Part kAttachPart = {.on_fork_child = OnForkInChild, .on_tick = OnTick, .on_detach = OnDetach};

}  // namespace plateau

extern "C" [[gnu::visibility("default")]] int32_t plateau_attach(plateau::AttachRequest* request) {
  request->result = static_cast<int32_t>(plateau::Attach(request));
  return request->result;
}

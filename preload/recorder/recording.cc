#include "preload/recorder/recording.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>

#include <cstring>

#include "preload/base/module_walk.h"
#include "preload/base/raw_log.h"
#include "preload/base/real_functions.h"
#include "preload/base/spin_lock.h"
#include "preload/base/system_call.h"
#include "preload/ledger/process_info.h"
#include "preload/recorder/device_blocks.h"
#include "preload/recorder/early_blocks.h"
#include "preload/recorder/file/slot_pool.h"
#include "preload/recorder/file/trace_sink.h"
#include "preload/recorder/ledger_events.h"
#include "preload/recorder/parts.h"
#include "preload/recorder/size_limit.h"
#include "preload/recorder/thread_end.h"
#include "preload/sampler/sample_set.h"

namespace plateau {

constinit Gate g_gate = {};
__thread ThreadState t_thread
    __attribute__((tls_model("initial-exec"))) = {-1, nullptr, nullptr, nullptr, 0, 0, false, 0, 0, 0};
constinit std::atomic<Phase> g_phase{Phase::kBoot};

namespace {

constinit SpinLock g_shared_lock;
constinit ThreadBuffer* g_shared_buffer = nullptr;
constinit uint32_t g_pid = 0;
constinit bool g_is_child = false;
constinit bool g_fork_was_orderly = true;
constinit std::atomic<uint32_t> g_recording_number{0};
// How long after the end of a recording its threads may still be in the few instructions of a hook that no guard covers.
constexpr uint64_t kSettleMs = 200;
constinit uint64_t g_stopped_tsc = 0;
constinit bool g_has_stacks = true;
// Where the counters go of threads that do not record.
constinit trace::Totals g_discarded = {};

void OpenGate() {
  g_gate.Set(IsExact() ? GateState::RecordsAll()
                       : GateState::Samples(g_rate.exact_from.load(std::memory_order_relaxed)));
  // In this order: whoever sees kRecording with a closed gate is a forked child.
  g_phase.store(Phase::kRecording, std::memory_order_release);
}

// Lets the fast path of this thread count into the void.
void DiscardCounts(ThreadState& t) {
  t.buffer = nullptr;
  t.bytes_until_sample = INT64_MAX;
  t.slot_totals = &g_discarded;
}

// Ends the recording for good: hooks become tail calls without effect.
void TurnOff(ThreadState& t) {
  g_phase.store(Phase::kOff, std::memory_order_relaxed);
  g_gate.Set(GateState::Off(/*fast_free=*/AllocatorIsLibc()));
  g_sample_set.Clear();
  g_device_blocks.Clear();
  DiscardCounts(t);
}

// The ring is private memory, so what the other threads have in it must be written now; recording ends here.
void FlushPrivateSlots(ThreadState& t) {
  g_slots.ForEachUsed([](const trace::SlotHeader* slot) {
    const auto* block = reinterpret_cast<const trace::BlockHeader*>(slot + 1);
    if (slot->stream != 0 && block->payload_bytes != 0) {
      g_sink.WriteBlock(*block, reinterpret_cast<const uint8_t*>(block + 1));
    }
    g_sink.AddEnded(slot->totals);
  });
  TurnOff(t);
}

// What was allocated before we could record. Its stacks are unknown.
void RecordEarlyBlocks(ThreadBuffer* buffer) {
  const uint64_t exact_from = g_rate.exact_from.load(std::memory_order_relaxed);
  g_early_blocks.ForEach([&](uintptr_t address, size_t bytes) {
    trace::Totals* totals = buffer->totals();
    ++totals->alloc_calls;
    totals->alloc_bytes += bytes;
    if (!IsExact() && (bytes < exact_from || !g_sample_set.Insert(address, {bytes, 0, 0}))) return;
    ++totals->recorded_allocs;
    buffer->Append([&](trace::BlockWriter& w) {
      return w.Alloc({address, bytes, /*stack=*/0, /*is_realloc=*/false});
    });
  });
}

// libc's blocks must not reach another allocator's free by the fast path.
void WatchEarlyBlocks() {
  if (AllocatorIsLibc()) return;
  g_early_blocks.ForEach([](uintptr_t address, size_t) { g_sample_set.Watch(address); });
}

void WriteInfo(void* buffer, std::string_view key, std::string_view value) {
  static_cast<ThreadBuffer*>(buffer)->Append([&](trace::BlockWriter& w) { return w.Info(key, value); });
}

bool StartRecording(ThreadState& t) {
  StartRate();
  g_recording_number.fetch_add(1, std::memory_order_relaxed);
  g_pid = static_cast<uint32_t>(sys::Getpid());
  const ProgramName program = ReadProgramName();
  if (!g_sink.Open(g_options, program.view())) return false;
  t.buffer = nullptr;
  t.slot_totals = nullptr;
  ThreadBuffer* buffer = MakeBuffer(t);
  if (buffer == nullptr) return false;
  WriteFirstRate(buffer);
  DescribeProcess(g_is_child, {buffer, WriteInfo});
#if defined(__x86_64__)
  if (!g_has_stacks) {
    constexpr std::string_view kWhy = "no stacks: there was no memory for the tables of the unwinder";
    WriteInfo(buffer, "stacks", kWhy);
    RawLog(kWhy);
    Drop(trace::DropReason::kNoSlot, 1, 0);
  }
#endif
  if (!IsLoaderUsable()) {
    WriteInfo(buffer, "modules",
              "libraries that are opened from here on are not looked at: another thread of the parent was "
              "inside the "
              "loader when this child was forked");
  }
  StartLedger();
  return true;
}

bool StartInChild(ThreadState& t) {
  Phase expected = Phase::kForked;
  if (!g_phase.compare_exchange_strong(expected, Phase::kStarting)) return false;
  if (!g_fork_was_orderly) ResetModuleWalksInChild();
  g_sink.AbandonInChild();
  g_slots.Reset();
  ThreadBuffer::ResetInChild();
  g_shared_lock.Release();
  g_shared_buffer = nullptr;
  g_sample_set.ResetInChild();
  g_device_blocks.ResetInChild();
  WatchEarlyBlocks();
  g_is_child = true;
  t.buffer = nullptr;
  t.slot_totals = nullptr;
  t.bytes_until_sample = -1;
  t.creator_recording = 0;
  const OwnCallScope own(t);
  unwind::ResetCaptureAfterFork();
  CallParts(&Part::on_fork_child);
  // Where its parent was not allowed to write any more, the child is not either.
  const bool started = g_options.follow && g_sink.MayWrite() && StartRecording(t);
  if (started) {
    OpenGate();
  } else {
    TurnOff(t);
  }
  return started;
}

}  // namespace

void StartProcess(char** environment) {
  ThreadState& t = t_thread;
  const int saved_errno = errno;
  const HookScope scope(t);
  const OwnCallScope own(t);
  StartClock();
  PrepareLog();
  PinDirectory(environment);
  ReadOptions(environment, &g_options);
  if (g_real.dlclose == nullptr) ResolveRealFunctions();
  sys::Call(SYS_madvise, sys::Arg(&g_gate), sizeof(g_gate), MADV_WIPEONFORK);
  const bool wanted = scope && g_options.mode != trace::Mode::kOff &&
                      (g_options.follow || FollowOnlyThisProcess(environment));
  g_phase.store(Phase::kStarting, std::memory_order_relaxed);
  if (wanted) {
    PrepareModuleWalks();
    PrepareThreadEnd();
    pthread_atfork(nullptr, nullptr, OnForkChild);
    g_has_stacks = unwind::InitializeCapture();
  }
  if (wanted && StartRecording(t)) {
    RecordEarlyBlocks(t.buffer);
    OpenGate();
    CallParts(&Part::start);
  } else {
    TurnOff(t);
  }
  if (AllocatorIsLibc()) g_early_blocks.Clear();
  WatchEarlyBlocks();
  errno = saved_errno;
}

void StayOut(char** environment, std::string_view why) {
  ThreadState& t = t_thread;
  const HookScope scope(t);
  PrepareLog();
  ReadOptions(environment, &g_options);
  if (g_options.mode != trace::Mode::kOff) RawLog(why);
  TurnOff(t);
}

namespace {

// Everything that was defined in the last trace will be defined again in the next.
bool ForgetLastRecording(ThreadState& t) {
  if (g_stopped_tsc != 0 && Now() - g_stopped_tsc < TicksOfMs(kSettleMs)) return false;
  if (!ThreadBuffer::TakeBack(t)) return false;
  g_sink.AbandonInChild();
  g_slots.Reset();
  g_shared_lock.Release();
  g_shared_buffer = nullptr;
  g_sample_set.Clear();
  g_device_blocks.Clear();
  unwind::ResetCaptureAfterFork();
  CallParts(&Part::on_attach_again);
  return true;
}

}  // namespace

LateStart StartLate(char** options) {
  ThreadState& t = t_thread;
  const int saved_errno = errno;
  const HookScope scope(t);
  const OwnCallScope own(t);
  const Phase phase = g_phase.load(std::memory_order_acquire);
  const bool is_first = phase == Phase::kBoot;
  if (!is_first && phase != Phase::kOff) return LateStart::kRecordsAlready;
  if (!scope || (!is_first && !ForgetLastRecording(t))) {
    errno = saved_errno;
    return LateStart::kThreadInside;
  }
  ReadOptions(options, &g_options);
  if (is_first) {
    PrepareModuleWalks();  // threads fork
    StartClock();
    PrepareLog();
    ResolveRealFunctions();
    sys::Call(SYS_madvise, sys::Arg(&g_gate), sizeof(g_gate), MADV_WIPEONFORK);
    PrepareThreadEnd();
    pthread_atfork(nullptr, nullptr, OnForkChild);
    g_has_stacks = unwind::InitializeCapture();
  }
  g_phase.store(Phase::kStarting, std::memory_order_relaxed);
  const bool started = StartRecording(t);
  if (started) {
    OpenGate();
    CallParts(&Part::start);
  } else {
    TurnOff(t);
  }
  errno = saved_errno;
  return started ? LateStart::kStarted : LateStart::kNoTrace;
}

void StopLate(ThreadState& t) {
  if (g_phase.load(std::memory_order_acquire) != Phase::kRecording) return;
  CallParts(&Part::on_detach);
  if (t.buffer != nullptr) RecordLedger(t.buffer, LedgerReason::kEnd);
  if (!g_sink.shared()) FlushPrivateSlots(t);
  g_sink.MarkStopped();
  g_phase.store(Phase::kOff, std::memory_order_release);
  g_gate.Set(GateState::Off(/*fast_free=*/AllocatorIsLibc()));
  g_slots.RetireFree(&g_sink);
  g_stopped_tsc = Now();
  g_sink.LetGo();
}

uint32_t RecordingNumber() { return g_recording_number.load(std::memory_order_relaxed); }

bool Awake(ThreadState& t) {
  for (;;) {
    switch (g_phase.load(std::memory_order_acquire)) {
      case Phase::kRecording:
        if (g_gate.live.load(std::memory_order_acquire) == 1) return true;
        // The gate was wiped: this is a child that nobody announced.
        g_fork_was_orderly = false;
        g_phase.store(Phase::kForked, std::memory_order_release);
        break;
      case Phase::kForked:
        return StartInChild(t);
      case Phase::kOff:
        DiscardCounts(t);
        return false;
      case Phase::kBoot:
      case Phase::kStarting:
        return false;
    }
  }
}

void OnForkChild() {
  if (g_phase.load(std::memory_order_relaxed) != Phase::kRecording) return;
  g_fork_was_orderly = true;
  g_phase.store(Phase::kForked, std::memory_order_release);
  g_gate.Set(GateState::Closed());  // kernels before 4.14 do not wipe it
}

bool IsForkedChild() { return g_is_child; }

bool ForkWasOrderly() { return g_fork_was_orderly; }

ThreadBuffer* MakeBuffer(ThreadState& t) {
  if (t.ended) return nullptr;
  ThreadBuffer* buffer = ThreadBuffer::Acquire();
  if (buffer == nullptr) return nullptr;
  buffer->BelongTo(&t);
  t.buffer = buffer;
  t.slot_totals = buffer->totals();
  WatchThreadEnd(t);
  const long kernel_id = sys::Gettid();
  const uint32_t thread_id = sys::Failed(kernel_id) ? 0 : static_cast<uint32_t>(kernel_id);
  buffer->random().Seed(Now() ^ reinterpret_cast<uintptr_t>(&t) ^ (uint64_t{buffer->stream()} << 32) ^
                        thread_id);
  t.bytes_until_sample = buffer->DrawGap(g_rate.point_bytes.load(std::memory_order_relaxed));
  char name[17] = {};
  sys::Call(SYS_prctl, PR_GET_NAME, sys::Arg(name));
  buffer->StampTime();
  buffer->Append([&](trace::BlockWriter& w) {
    const bool is_known = t.creator_recording == RecordingNumber();
    return w.ThreadStart({thread_id, is_known ? t.creator_stream : 0, is_known ? t.creator_stack : 0, name});
  });
  return buffer;
}

void RememberEarlyBlock(const void* p, uint64_t bytes) {
  if (g_phase.load(std::memory_order_relaxed) <= Phase::kStarting && AllocatorIsLibc()) {
    g_early_blocks.Add(p, bytes);
  }
}

ThreadBuffer* BorrowSharedBuffer(ThreadState& t) {
  if (!g_shared_lock.Acquire()) return nullptr;
  if (g_shared_buffer == nullptr) {
    g_shared_buffer = ThreadBuffer::Acquire();
    if (g_shared_buffer == nullptr) {
      g_shared_lock.Release();
      return nullptr;
    }
    g_shared_buffer->Append([&](trace::BlockWriter& w) { return w.ThreadStart({0, 0, 0, "ended threads"}); });
  }
  t.buffer = g_shared_buffer;
  return g_shared_buffer;
}

void GiveBackSharedBuffer(ThreadState& t) {
  t.buffer = nullptr;
  t.slot_totals = nullptr;
  t.bytes_until_sample = -1;
  g_shared_lock.Release();
}

void Drop(trace::DropReason reason, uint64_t events, uint64_t bytes) {
  g_sink.CountDrop(reason, events, bytes);
}

bool LoseTrace() {
  g_phase.store(Phase::kOff, std::memory_order_relaxed);
  g_gate.Set(GateState::Off(/*fast_free=*/AllocatorIsLibc()));
  return g_sink.BecomeScratch();
}

trace::Totals ProcessTotals() {
  trace::Totals sum = g_sink.header()->ended_threads;
  g_slots.ForEachUsed([&sum](const trace::SlotHeader* slot) {
    sum.alloc_calls += slot->totals.alloc_calls;
    sum.alloc_bytes += slot->totals.alloc_bytes;
    sum.free_calls += slot->totals.free_calls;
    sum.freed_bytes += slot->totals.freed_bytes;
    sum.recorded_allocs += slot->totals.recorded_allocs;
    sum.recorded_frees += slot->totals.recorded_frees;
  });
  return sum;
}

void FinishProcess() {
  if (g_gate.live.load(std::memory_order_relaxed) != 1) return;
  // A vfork child shares all this with its parent, and ends alone.
  const long pid = sys::Getpid();
  if (!sys::Failed(pid) && g_pid != static_cast<uint32_t>(pid)) return;
  CallParts(&Part::at_end);
  ThreadState& t = t_thread;
  const HookScope scope(t);
  if (!scope) return;
  if (t.buffer != nullptr) RecordLedger(t.buffer, LedgerReason::kEnd);
  // Open blocks of a shared ring stay where they are: they are in the file.
  if (!g_sink.shared()) FlushPrivateSlots(t);
  g_sink.MarkCleanExit();
  g_slots.RetireFree(&g_sink);
}

}  // namespace plateau

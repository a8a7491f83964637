#include "preload/recorder/tracer.h"

#include "preload/base/fixed_text.h"
#include "preload/ledger/residency.h"
#include "preload/recorder/definitions.h"
#include "preload/recorder/event.h"
#include "preload/recorder/file/trace_sink.h"
#include "preload/recorder/fold_table.h"
#include "preload/recorder/ledger_events.h"
#include "preload/recorder/mark_thinning.h"
#include "preload/recorder/size_limit.h"
#include "preload/recorder/step_count.h"
#include "preload/sampler/sample_set.h"
#include "preload/sampler/unrecorded_blocks.h"

namespace plateau {
namespace {

// Whether an allocation is recorded. Draws the next gap when the countdown ends here.
[[gnu::always_inline]] inline bool Choose(ThreadState& t, size_t bytes, ThreadBuffer* buffer) {
  const uint64_t exact_from = g_rate.exact_from.load(std::memory_order_relaxed);
  if (g_rate.full.load(std::memory_order_relaxed) && !g_folds.active()) [[unlikely]] {
    Drop(trace::DropReason::kLimit, 1, bytes);
    return false;
  }
  if (bytes >= exact_from) return true;
  const int64_t left = t.bytes_until_sample - static_cast<int64_t>(bytes);
  if (left >= 0) {
    t.bytes_until_sample = left;
    return false;
  }
  NotePoint(buffer);
  const uint64_t mean_bytes = g_rate.sample_bytes.load(std::memory_order_relaxed);
  const bool keeps = buffer->random().Keeps(buffer->gap_mean_bytes(), mean_bytes);
  t.bytes_until_sample = buffer->DrawGap(g_rate.point_bytes.load(std::memory_order_relaxed));
  return keeps;
}

// Whether chosen blocks are remembered by their address: in default mode always, in exact mode from the
// moment when the size limit made it a sample, because the totals need to know what is freed.
bool IsSampled() { return g_rate.exact_from.load(std::memory_order_relaxed) != 0; }

bool IsFolding() { return g_rate.full.load(std::memory_order_relaxed) && g_folds.active(); }

// In exact mode the blocks from before the sample are remembered nowhere, and so those that are not chosen must be.
bool IsSampledExact() { return IsExact() && IsSampled(); }

// False when the block cannot be remembered: it is dropped then.
bool Remember(uintptr_t address, const SampledBlock& block) {
  if (IsExact()) g_unrecorded_blocks.Take(address);
  return g_sample_set.Insert(address, block);
}

// The events of a sample are far apart, so each has a time of its own: one that stood for many would be much older than the
// events of other threads beside it.
uint64_t TimeFor(ThreadBuffer* buffer, uint64_t bytes) {
  return IsExact() && !IsSampled() ? buffer->TimeFor(bytes) : Now();
}

SampledBlock SampleOf(size_t bytes, uint32_t stack) { return {bytes, stack, RateLevel()}; }

// The time stamp for an event inside pymalloc. Its users hold the interpreter's lock, so a stamp whenever
// another thread comes puts the events of all threads in their order.
uint64_t TimeOfIn(ThreadBuffer* buffer) {
  static constinit std::atomic<uint32_t> last_stream{0};
  if (!IsExact()) return Now();
  if (last_stream.load(std::memory_order_relaxed) == buffer->stream()) [[likely]]
    return buffer->TimeFor(0);
  last_stream.store(buffer->stream(), std::memory_order_relaxed);
  return Now();
}

void FoldAlloc(ThreadBuffer* buffer, const SampledBlock& sample) {
  g_folds.Alloc(sample);
  g_folds.MaybeWrite(buffer);
  MaybeRecordLedger(buffer, Now(), sample.bytes);
}

bool IsFull() {
  if (!g_rate.full.load(std::memory_order_relaxed)) [[likely]]
    return false;
  Drop(trace::DropReason::kLimit, 1, 0);
  return true;
}

}  // namespace

ThreadBuffer* BufferForSlow(ThreadState& t, uint64_t bytes) {
  if (!IsRecording(t)) return nullptr;
  if (t.buffer != nullptr) return t.buffer;
  ThreadBuffer* buffer = t.ended ? BorrowSharedBuffer(t) : MakeBuffer(t);
  if (buffer == nullptr) {
    Drop(t.ended ? trace::DropReason::kContended : trace::DropReason::kNoSlot, 1, bytes);
  }
  return buffer;
}

void CountNested(ThreadState& t, size_t bytes) {
  if (t.own_calls == 0 && g_gate.live.load(std::memory_order_relaxed) == 1) {
    Drop(trace::DropReason::kReentrant, 1, bytes);
  }
}

namespace {

// Call when the ALLOC of a block is written.
[[gnu::always_inline]] inline void MaybeFollow(ThreadBuffer* buffer, uint64_t address, uint64_t bytes) {
  if (bytes >= kFollowedBytes) [[unlikely]]
    FollowRegion(trace::RegionKind::kBlock, address, bytes, buffer->writer().last_tsc());
}

[[gnu::noinline]] void WriteAlloc(ThreadBuffer* buffer, const trace::AllocRecord& record) {
  const uint64_t tsc = TimeFor(buffer, record.bytes);
  buffer->Append([&](trace::BlockWriter& w) { return w.Alloc(record, tsc); });
  ++buffer->totals()->recorded_allocs;
  MaybeFollow(buffer, record.address, record.bytes);
  if (tsc != 0) MaybeRecordLedger(buffer, tsc, record.bytes);
}

[[gnu::noinline]] void RecordChosenAlloc(ThreadState& t, const void* p, size_t bytes, const void* frame) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  ThreadBuffer* buffer = BufferFor(t, bytes);
  if (buffer == nullptr) [[unlikely]] {
    RememberEarlyBlock(p, bytes);
    return;
  }
  trace::Totals* totals = buffer->totals();
  ++totals->alloc_calls;
  totals->alloc_bytes += bytes;
  if (!Choose(t, bytes, buffer)) {
    if (IsSampledExact()) g_unrecorded_blocks.Note(address);
    return ReleaseBuffer(t);
  }
  const uint32_t stack = StackOf(t, CallerOfFrame(frame));
  if (IsSampled() && !Remember(address, SampleOf(bytes, stack))) {
    Drop(trace::DropReason::kContended, 1, bytes);
    return ReleaseBuffer(t);
  }
  if (IsFolding()) [[unlikely]] {
    FoldAlloc(buffer, SampleOf(bytes, stack));
    return ReleaseBuffer(t);
  }
  WriteAlloc(buffer, {address, bytes, stack, /*is_realloc=*/false});
  ReleaseBuffer(t);
}

}  // namespace

void RecordAlloc(ThreadState& t, const void* p, size_t bytes, const void* frame) {
  ThreadBuffer* buffer = BufferForAll(t);
  if (buffer == nullptr) return RecordChosenAlloc(t, p, bytes, frame);
  trace::Totals* totals = buffer->totals();
  ++totals->alloc_calls;
  totals->alloc_bytes += bytes;
  const uint32_t stack = CaptureStack(buffer->capture(), CallerOfFrame(frame));
  const trace::AllocRecord record = {reinterpret_cast<uintptr_t>(p), bytes, stack, /*is_realloc=*/false};
  trace::BlockWriter* writer = buffer->WriterForPlainEvent(bytes);
  if (writer == nullptr) return WriteAlloc(buffer, record);
  writer->PutAlloc(record, 0);
  ++totals->recorded_allocs;
}

void RecordFree(ThreadState& t, const void* p) {
  ThreadBuffer* buffer = BufferFor(t, 0);
  if (buffer == nullptr) [[unlikely]]
    return;
  trace::Totals* totals = buffer->totals();
  ++totals->free_calls;
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  if (IsSampled()) {
    SampledBlock sample = {};
    const bool is_known = g_sample_set.Erase(address, &sample);
    if (!is_known && (!IsExact() || g_unrecorded_blocks.Take(address))) return ReleaseBuffer(t);
    totals->freed_bytes += sample.bytes;
    if (sample.bytes >= kFollowedBytes) ForgetBlock(address);
    if (IsFolding()) [[unlikely]] {
      if (is_known) g_folds.Free(sample);
      return ReleaseBuffer(t);
    }
  }
  if (IsFull()) return ReleaseBuffer(t);
  const uint64_t tsc = TimeFor(buffer, 0);
  buffer->Append([&](trace::BlockWriter& w) { return w.Free({address, /*is_realloc=*/false}, tsc); });
  ++totals->recorded_frees;
  ReleaseBuffer(t);
}

ReallocEvent BeginRealloc(ThreadState& t, const void* p, size_t bytes) {
  ReallocEvent event = {};
  ThreadBuffer* buffer = BufferFor(t, bytes);
  if (buffer == nullptr) return event;
  event.recording = true;
  trace::Totals* totals = buffer->totals();
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  event.record_new = Choose(t, bytes, buffer);
  const bool is_known = IsSampled() && g_sample_set.Erase(address, &event.old);
  if (event.old.bytes >= kFollowedBytes) ForgetBlock(address);
  event.unrecorded_old = !is_known && IsSampledExact() && g_unrecorded_blocks.Take(address);
  event.folded_old = is_known && IsFolding();
  if (event.folded_old) [[unlikely]]
    g_folds.Free(event.old);
  event.had_old = (IsExact() || is_known) && !event.unrecorded_old && !IsFolding() && !IsFull();
  if (event.had_old) {
    event.linked = event.record_new;
    const uint64_t tsc = TimeFor(buffer, 0);
    buffer->Append([&](trace::BlockWriter& w) { return w.Free({address, event.linked}, tsc); });
    totals->freed_bytes += event.old.bytes;
    ++totals->recorded_frees;
  }
  ++totals->free_calls;
  return event;
}

void EndRealloc(ThreadState& t, const ReallocEvent& event, const void* old_p, const void* new_p, size_t bytes,
                const void* frame) {
  if (!event.recording) {
    if (new_p != nullptr) RememberEarlyBlock(new_p, bytes);
    return;
  }
  ThreadBuffer* buffer = t.buffer;
  trace::Totals* totals = buffer->totals();
  const uintptr_t address = reinterpret_cast<uintptr_t>(new_p != nullptr ? new_p : old_p);
  if (new_p == nullptr) {
    // The call failed, so nothing was freed after all.
    --totals->free_calls;
    if (event.unrecorded_old) g_unrecorded_blocks.Note(address);
    if (event.folded_old || (event.had_old && event.old.bytes != 0)) g_sample_set.Insert(address, event.old);
    if (event.folded_old) g_folds.Alloc(event.old);
    if (event.had_old) {
      --totals->recorded_frees;
      totals->freed_bytes -= event.old.bytes;
      if (event.linked) {
        buffer->Append([](trace::BlockWriter& w) { return w.ReallocCancel(); });
      } else {
        const uint32_t stack = StackOf(t, CallerOfFrame(frame));
        buffer->Append([&](trace::BlockWriter& w) {
          return w.Alloc({address, event.old.bytes, stack, /*is_realloc=*/false}, Now());
        });
        ++totals->recorded_allocs;
      }
    }
    return ReleaseBuffer(t);
  }
  ++totals->alloc_calls;
  totals->alloc_bytes += bytes;
  if (event.record_new) {
    const uint32_t stack = StackOf(t, CallerOfFrame(frame));
    if (IsSampled() && !Remember(address, SampleOf(bytes, stack))) {
      Drop(trace::DropReason::kContended, 1, bytes);
      return ReleaseBuffer(t);
    }
    if (IsFolding() && !event.linked) [[unlikely]] {
      FoldAlloc(buffer, SampleOf(bytes, stack));
      return ReleaseBuffer(t);
    }
    const uint64_t tsc = TimeFor(buffer, bytes);
    buffer->Append([&](trace::BlockWriter& w) {
      return w.Alloc({address, bytes, stack, event.linked}, tsc);
    });
    ++totals->recorded_allocs;
    MaybeFollow(buffer, address, bytes);
    if (tsc != 0) MaybeRecordLedger(buffer, tsc, bytes);
  } else if (IsSampledExact()) {
    g_unrecorded_blocks.Note(address);
  }
  ReleaseBuffer(t);
}

bool Enabled() {
  if (g_gate.live.load(std::memory_order_relaxed) == 1) return true;
  const Phase phase = g_phase.load(std::memory_order_relaxed);
  return phase == Phase::kRecording || (phase == Phase::kForked && g_options.follow);
}

bool InHook() { return t_thread.depth != 0; }

HookGuard::HookGuard() {
  HookScope::Enter(t_thread);
  ++t_thread.own_calls;
}
HookGuard::~HookGuard() {
  --t_thread.own_calls;
  HookScope::Leave(t_thread);
}

namespace {

constinit std::atomic<uint64_t> g_step_marks{0};

void WriteMark(ThreadBuffer* buffer, const trace::MarkRecord& mark) {
  const auto write = [&](const trace::MarkRecord& record) {
    buffer->Append([&](trace::BlockWriter& w) { return w.Mark(record); });
  };
  MarkThinning::Choice choice;
  if (g_rate.full.load(std::memory_order_relaxed)) [[unlikely]] {
    choice = g_mark_thinning.Choose(mark, RoomBesideEvents(g_options.max_trace) / 2);
    if (choice.groups > 0) g_folds.SetGroups(choice.groups);
    if (!choice.keeps) return;
  }
  buffer->StampTime();
  if (choice.begins_group) write({trace::MarkKind::kMarksLeftOut, mark.source, choice.left_out, {}});
  if (choice.needs_fetch) write({trace::MarkKind::kFetchBegin, mark.source, choice.fetch_value, {}});
  write(mark);
}

}  // namespace

uint64_t StepMarksSoFar() { return g_step_marks.load(std::memory_order_relaxed); }

void RecordMark(trace::MarkKind kind, trace::MarkSource source, uint64_t value, std::string_view name) {
  EventScope scope;
  if (!scope) return;
  WriteMark(scope.buffer(), {kind, source, value, name});
  if (kind == trace::MarkKind::kStep) g_step_count.found.fetch_add(1, std::memory_order_relaxed);
  if (kind == trace::MarkKind::kExplicitStep) g_step_count.told.fetch_add(1, std::memory_order_relaxed);
  if (kind == trace::MarkKind::kStep || kind == trace::MarkKind::kExplicitStep ||
      kind == trace::MarkKind::kEpoch) {
    const bool is_step = kind != trace::MarkKind::kEpoch;
    if (is_step && g_step_marks.fetch_add(1, std::memory_order_relaxed) == 0) NoteFirstStep();
    RecordLedger(scope.buffer(), LedgerReason::kMark);
    g_folds.MaybeWrite(scope.buffer());
  }
}

uint32_t CaptureMarkSite(const void* frame) {
  EventScope scope;
  if (!scope) return 0;
  const uint32_t stack = StackOf(scope.thread(), CallerOfFrame(frame));
  return IsNamed(stack) ? stack : 0;
}

void TagTensor(const void* p, size_t bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  if (!IsExact() && !g_sample_set.MayContain(address)) return;  // most small tensors, in a nanosecond
  EventScope scope;
  if (!scope || g_rate.full.load(std::memory_order_relaxed)) return;
  if (IsExact() ? g_unrecorded_blocks.Contains(address) : !g_sample_set.Contains(address)) return;
  scope.buffer()->Append([&](trace::BlockWriter& w) { return w.Tensor({address, bytes}); });
}

void UntagTensor(const void* p) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  if (!IsExact() && !g_sample_set.MayContain(address)) return;  // most small tensors, in a nanosecond
  EventScope scope;
  if (!scope || g_rate.full.load(std::memory_order_relaxed)) return;
  if (IsExact() ? g_unrecorded_blocks.Contains(address) : !g_sample_set.Contains(address)) return;
  scope.buffer()->Append([&](trace::BlockWriter& w) { return w.TensorGone(address); });
}

void RecordInfo(std::string_view key, std::string_view value) {
  ThreadState& t = t_thread;
  // Parts report from their start and their ticks, where the guard is held already.
  if (t.depth > 0 && t.own_calls > 0 && t.buffer != nullptr) {
    t.buffer->Append([&](trace::BlockWriter& w) { return w.Info(key, value); });
    return;
  }
  EventScope scope;
  if (scope) scope.buffer()->Append([&](trace::BlockWriter& w) { return w.Info(key, value); });
}

void RecordEndedChild(long child, int signal) {
  EventScope scope;
  if (!scope || IsFull()) return;
  FixedText<32> key, value;
  key << "child:" << child;
  value << signal;
  scope.buffer()->Append([&](trace::BlockWriter& w) { return w.Info(key.view(), value.view()); });
}

void CountPointIn() {
  EventScope scope;
  if (scope) NotePoint(scope.buffer());
}

uint32_t RecordAllocIn(const void* p, size_t bytes, const void* frame) {
  EventScope scope;
  if (!scope || IsFull()) return 0;
  const uint32_t stack = StackOf(scope.thread(), CallerOfFrame(frame));
  const uint64_t tsc = TimeOfIn(scope.buffer());
  scope.buffer()->Append([&](trace::BlockWriter& w) {
    return w.AllocIn({reinterpret_cast<uintptr_t>(p), bytes, stack}, tsc);
  });
  return stack;
}

void RecordFreeIn(const void* p) {
  EventScope scope;
  if (!scope || IsFull()) return;
  const uint64_t tsc = TimeOfIn(scope.buffer());
  scope.buffer()->Append(
      [&](trace::BlockWriter& w) { return w.FreeIn({reinterpret_cast<uintptr_t>(p)}, tsc); });
}

namespace {

template <typename Write>
bool Define(size_t bytes, Write write) {
  if (g_rate.full.load(std::memory_order_relaxed)) [[unlikely]]
    NoteDefinition(bytes);
  return t_thread.buffer->Append(write);
}

}  // namespace

bool DefineNode(const trace::NodeRecord& record) {
  if (!IsNamed(record.node)) [[unlikely]]
    return false;
  return Define(6, [&](trace::BlockWriter& w) { return w.Node(record); });
}
bool DefinePc(const trace::PcRecord& record) {
  return Define(8, [&](trace::BlockWriter& w) { return w.Pc(record); });
}
bool DefineModule(const trace::ModuleRecord& record) {
  return Define(record.path.size() + 60, [&](trace::BlockWriter& w) { return w.Module(record); });
}
bool DefineModuleGone(uint32_t module) {
  return Define(4, [&](trace::BlockWriter& w) { return w.ModuleGone(module); });
}
bool DefineCode(const trace::CodeRecord& record) {
  return Define(record.file.size() + record.name.size() + record.line_table.size() + record.loops.size() + 13,
                [&](trace::BlockWriter& w) { return w.Code(record); });
}
bool DefinePythonLocation(const trace::PythonLocationRecord& record) {
  return Define(8, [&](trace::BlockWriter& w) { return w.PythonLocation(record); });
}

}  // namespace plateau

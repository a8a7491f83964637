#include "preload/recorder/thread_buffer.h"

#include <cstring>
#include <new>

#include "preload/base/arena.h"
#include "preload/base/spin_lock.h"
#include "preload/base/system_call.h"
#include "preload/recorder/recording.h"
#include "preload/recorder/size_limit.h"
#include "preload/recorder/slot_pool.h"
#include "preload/recorder/thread_state.h"
#include "preload/recorder/trace_sink.h"
#include "preload/trace/decoder.h"

namespace plateau {
namespace {

constexpr int64_t kTouchedBytes = 16 * 1024;

constinit SpinLock g_free_lock;
constinit ThreadBuffer* g_free = nullptr;

}  // namespace

ThreadBuffer* ThreadBuffer::Acquire() {
  trace::SlotHeader* slot = g_slots.Claim(&g_sink);
  if (slot == nullptr) return nullptr;
  ThreadBuffer* buffer = nullptr;
  {
    SpinLockHolder holder(g_free_lock);
    if (holder && g_free != nullptr) {
      buffer = g_free;
      g_free = buffer->next_free_;
    }
  }
  if (buffer == nullptr) {
    // Most of it is room for deep stacks that is never touched.
    buffer = static_cast<ThreadBuffer*>(sys::MapAnonymous(sizeof(ThreadBuffer)));
    CountOwnBytes(kTouchedBytes);
  }
  if (buffer == nullptr) {
    g_slots.Release(slot);
    return nullptr;
  }
  buffer->slot_ = slot;
  buffer->block_ = reinterpret_cast<trace::BlockHeader*>(slot + 1);
  buffer->events_until_time_ = kEventsPerTime;
  buffer->last_time_ = 0;
  buffer->capture_is_ready_ = false;
  const long thread_id = sys::Gettid();
  slot->thread_id = sys::Failed(thread_id) ? 0 : static_cast<uint32_t>(thread_id);
  std::memset(&slot->totals, 0, sizeof(slot->totals));
  const uint32_t stream = __atomic_add_fetch(&g_sink.header()->stream_count, 1u, __ATOMIC_RELAXED);
  // The block first, then the owner: a reader that sees the owner sees an empty block of that stream.
  buffer->writer_.Start(buffer->block_, buffer->payload(), trace::kSlotPayloadBytes, stream, 0, Now());
  __atomic_store_n(&slot->stream, stream, __ATOMIC_RELEASE);
  return buffer;
}

void ThreadBuffer::Release(ThreadBuffer* buffer) {
  if (!g_sink.MayWrite()) return;
  buffer->Flush();
  trace::SlotHeader* slot = buffer->slot_;
  const trace::Totals totals = slot->totals;
  std::memset(&slot->totals, 0, sizeof(slot->totals));
  g_sink.AddEnded(totals);
  __atomic_store_n(&slot->stream, 0u, __ATOMIC_RELEASE);
  g_slots.Release(slot);
  SpinLockHolder holder(g_free_lock);
  if (!holder) return;
  buffer->next_free_ = g_free;
  g_free = buffer;
}

uint64_t ThreadBuffer::DueTime() {
  events_until_time_ = kEventsPerTime;
  const uint64_t now = Now();
  const bool is_only_stream = __atomic_load_n(&g_sink.header()->stream_count, __ATOMIC_RELAXED) == 1;
  if (is_only_stream && now - last_time_ < TicksOfMs(kQuickUs) / 1000) return 0;
  last_time_ = now;
  return now;
}

void ThreadBuffer::PrepareCapture() {
  // The C library may allocate while it answers; those calls are ours.
  const OwnCallScope own(t_thread);
  new (&capture_) unwind::ThreadCapture;
  capture_.Initialize();
  capture_is_ready_ = true;
}

void ThreadBuffer::ResetInChild() {
  // The objects of the parent's threads stay behind, mostly untouched address space.
  g_free_lock.Release();
  g_free = nullptr;
}

void ThreadBuffer::Flush() {
  if (writer_.bytes() == 0) return;
  if (!g_sink.MayWrite()) [[unlikely]]
    return g_sink.CountDrop(trace::DropReason::kSandbox, 1, 0);
  const bool written = g_sink.WriteBlock(*block_, payload());
  events_until_time_ = kEventsPerTime;
  if (written) {
    writer_.Start(block_, payload(), trace::kSlotPayloadBytes, slot_->stream, block_->seq + 1, Now());
    KeepSizeLimit(this);
  } else {
    KeepDefinitions();
  }
}

void ThreadBuffer::KeepDefinitions() {
  const trace::BlockHeader lost = *block_;
  auto* copy = static_cast<uint8_t*>(ArenaMap(trace::kSlotBytes));
  if (copy != nullptr) std::memcpy(copy, payload(), lost.payload_bytes);
  // A number that never comes is damage to a reader; what the size limit took is a drop and no damage.
  const uint32_t seq = g_sink.is_full() ? lost.seq : lost.seq + 1;
  writer_.Start(block_, payload(), trace::kSlotPayloadBytes, slot_->stream, seq, Now());
  if (copy == nullptr) return;
  trace::RecordReader reader(lost, {reinterpret_cast<char*>(copy), lost.payload_bytes});
  trace::Record record;
  while (writer_.bytes() < trace::kSlotPayloadBytes / 2 && reader.Next(&record)) {
    switch (record.kind) {
      case trace::RecordKind::kNode:
        writer_.Node(record.node);
        break;
      case trace::RecordKind::kPc:
        writer_.Pc(record.pc);
        break;
      case trace::RecordKind::kModule:
        writer_.Module(record.module);
        break;
      case trace::RecordKind::kModuleGone:
        writer_.ModuleGone(record.module_gone.module);
        break;
      case trace::RecordKind::kCode:
        writer_.Code(record.code);
        break;
      case trace::RecordKind::kPythonLocation:
        writer_.PythonLocation(record.python_location);
        break;
      case trace::RecordKind::kThreadStart:
        writer_.ThreadStart(record.thread_start);
        break;
      case trace::RecordKind::kInfo:
        writer_.Info(record.info.key, record.info.value);
        break;
      case trace::RecordKind::kMark:
        writer_.Mark(record.mark);
        break;
      case trace::RecordKind::kRate:
        writer_.Rate(record.rate);
        break;
      default:
        break;
    }
  }
  ArenaUnmap(copy, trace::kSlotBytes);
}

}  // namespace plateau

#include "preload/recorder/thread_buffer.h"

#include <time.h>

#include <atomic>
#include <cstring>
#include <new>

#include "preload/base/arena.h"
#include "preload/base/raw_memory.h"
#include "preload/base/spin_lock.h"
#include "preload/base/system_call.h"
#include "preload/recorder/file/slot_pool.h"
#include "preload/recorder/file/trace_sink.h"
#include "preload/recorder/recording.h"
#include "preload/recorder/size_limit.h"
#include "preload/recorder/thread_state.h"
#include "preload/trace/decoder.h"

namespace plateau {
namespace {

constexpr int64_t kTouchedBytes = 16 * 1024;

constinit SpinLock g_free_lock;
constinit ThreadBuffer* g_free = nullptr;
constinit std::atomic<ThreadBuffer*> g_made{nullptr};

// How long TakeBack() waits for all threads together.
constexpr int kMaxWaits = 100;
constexpr int64_t kWaitNs = 1'000'000;

uint32_t OwnThreadId() {
  const long id = sys::Gettid();
  return sys::Failed(id) ? 0 : static_cast<uint32_t>(id);
}

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
    if (buffer == nullptr) {
      g_slots.Release(slot);
      return nullptr;
    }
    ThreadBuffer* first = g_made.load(std::memory_order_relaxed);
    do {
      buffer->next_made_ = first;
    } while (!g_made.compare_exchange_weak(first, buffer, std::memory_order_release));
  }
  buffer->owner_ = nullptr;
  buffer->slot_ = slot;
  buffer->block_ = reinterpret_cast<trace::BlockHeader*>(slot + 1);
  buffer->events_until_time_ = kEventsPerTime;
  buffer->last_time_ = 0;
  buffer->capture_is_ready_ = false;
  slot->thread_id = buffer->owner_thread_id_ = OwnThreadId();
  std::memset(&slot->totals, 0, sizeof(slot->totals));
  const uint32_t stream = __atomic_add_fetch(&g_sink.header()->stream_count, 1u, __ATOMIC_RELAXED);
  // The block first, then the owner: a reader that sees the owner sees an empty block of that stream.
  buffer->writer_.Start(buffer->block_, buffer->payload(), trace::kSlotPayloadBytes, stream, 0, Now());
  __atomic_store_n(&slot->stream, stream, __ATOMIC_RELEASE);
  return buffer;
}

void ThreadBuffer::Release(ThreadBuffer* buffer) {
  if (!g_sink.MayWrite()) return;
  buffer->owner_ = nullptr;
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
  g_made.store(nullptr, std::memory_order_relaxed);
}

// A thread may have ended without telling anybody, its memory gone with it: what is written to is looked at first.
ThreadState* ThreadBuffer::LivingOwner(const ThreadBuffer* buffer) {
  ThreadState* owner = buffer->owner_;
  if (owner == nullptr || sys::Failed(sys::Call(SYS_tgkill, sys::Getpid(), buffer->owner_thread_id_, 0)) ||
      !unwind::IsReadable(reinterpret_cast<uintptr_t>(owner))) {
    return nullptr;
  }
  return owner->buffer == buffer || owner->buffer == nullptr ? owner : nullptr;
}

bool ThreadBuffer::TakeBack(ThreadState& self) {
  int waits = 0;
  for (ThreadBuffer* b = g_made.load(std::memory_order_acquire); b != nullptr; b = b->next_made_) {
    while (const ThreadState* owner = LivingOwner(b)) {
      if (owner == &self || __atomic_load_n(&owner->depth, __ATOMIC_RELAXED) == 0) break;
      if (++waits > kMaxWaits) return false;
      const timespec wait = {0, kWaitNs};
      sys::Call(SYS_nanosleep, sys::Arg(&wait));
    }
  }
  ThreadBuffer* free = nullptr;
  for (ThreadBuffer* b = g_made.load(std::memory_order_acquire); b != nullptr; b = b->next_made_) {
    if (ThreadState* owner = LivingOwner(b)) {
      owner->buffer = nullptr;
      owner->totals = owner->slot_totals = nullptr;
      owner->bytes_until_sample = -1;
    }
    b->owner_ = nullptr;
    b->next_free_ = free;
    free = b;
  }
  g_free_lock.Release();
  g_free = free;
  return true;
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

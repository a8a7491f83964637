#include "preload/recorder/ledger_events.h"

#include "preload/base/arena.h"
#include "preload/base/clock.h"
#include "preload/base/fixed_text.h"
#include "preload/ledger/copied_pages.h"
#include "preload/ledger/residency.h"
#include "preload/recorder/file/trace_sink.h"
#include "preload/recorder/parts.h"
#include "preload/recorder/recording.h"
#include "preload/recorder/size_limit.h"
#include "preload/unwind/capture.h"

namespace plateau {
namespace {

void WriteCopiedPages(void* buffer, std::string_view runs) {
  static_cast<ThreadBuffer*>(buffer)->Append([&](trace::BlockWriter& w) { return w.CopiedPages(runs); });
}

void WriteResidency(void* buffer, const trace::ResidencyRecord& record) {
  static_cast<ThreadBuffer*>(buffer)->Append([&](trace::BlockWriter& w) { return w.Residency(record); });
}

void ReadResidency(ThreadBuffer* buffer) {
  // There is no room for records that come again and again once events have ended.
  if (g_rate.full.load(std::memory_order_relaxed)) return;
  MaybeReadResidency({buffer, WriteResidency});
  static constinit std::atomic<ResidencyState> told_state{ResidencyState::kOpen};
  static constinit std::atomic<uint64_t> told_missed{0};
  const auto tell = [buffer](std::string_view value) {
    buffer->Append([&](trace::BlockWriter& w) { return w.Info("residency", value); });
  };
  const ResidencyState state = GetResidencyState();
  if (told_state.exchange(state, std::memory_order_relaxed) != state && state != ResidencyState::kOpen) {
    tell(state == ResidencyState::kClosed
             ? "not read: the kernel does not answer mincore()"
             : "no longer read: the program gave itself a filter of system calls");
  }
  // Each time the number has doubled.
  const uint64_t missed = MissedRegions();
  uint64_t told = told_missed.load(std::memory_order_relaxed);
  if (missed < 2 * told || missed == 0) return;
  if (!told_missed.compare_exchange_strong(told, missed, std::memory_order_relaxed)) return;
  FixedText<128> text;
  text << missed << " large blocks or maps were not followed and count by their size";
  tell(text.view());
}

LedgerContext ContextOfNow() {
  return {
      .is_forked_child = IsForkedChild(),
      .may_ask_allocator = ForkWasOrderly(),
      .own_bytes = OwnBytes() + unwind::GetCaptureStatistics().own_bytes,
  };
}

// Since it began; in ticks of a hundredth of a second, which the kernel shows on every machine of ours.
uint64_t AgeNs() {
  constexpr uint64_t kTickNs = 10'000'000;
  const uint64_t begin_ns = g_sink.header()->process_start_ticks * kTickNs, now_ns = ClockNs(CLOCK_BOOTTIME);
  return now_ns > begin_ns ? now_ns - begin_ns : 0;
}

}  // namespace

void RecordAttach(ThreadBuffer* buffer, trace::AttachRecord attach) {
  trace::LedgerRecord now;
  ReadLedger(LedgerReason::kMark, ContextOfNow(), &now);
  const auto field = [&now](trace::LedgerField wanted) -> uint64_t {
    for (uint32_t i = 0; i < now.count; ++i) {
      if (now.fields[i].field == wanted) return now.fields[i].value;
    }
    return 0;
  };
  attach.age_ns = AgeNs();
  attach.rss_anon_bytes = field(trace::LedgerField::kRssAnonBytes);
  attach.rss_file_bytes = field(trace::LedgerField::kRssFileBytes);
  attach.rss_shmem_bytes = field(trace::LedgerField::kRssShmemBytes);
  attach.own_bytes = field(trace::LedgerField::kOwnBytes);
  attach.allocator_arena_bytes = field(trace::LedgerField::kAllocatorArenaBytes);
  attach.allocator_free_bytes = field(trace::LedgerField::kAllocatorFreeBytes);
  attach.allocator_mmap_bytes = field(trace::LedgerField::kAllocatorMmapBytes);
  buffer->StampTime();
  buffer->Append([&](trace::BlockWriter& w) { return w.Attach(attach); });
}

void RecordLedger(ThreadBuffer* buffer, LedgerReason reason) {
  if (!ClaimLedgerSample(reason, g_rate.coarsened.load(std::memory_order_relaxed))) return;
  trace::LedgerRecord record;
  const uint64_t private_bytes = ReadLedger(reason, ContextOfNow(), &record);
  const trace::Totals totals = ProcessTotals();
  buffer->StampTime();
  buffer->Append([&](trace::BlockWriter& w) { return w.Ledger(record); });
  buffer->Append([&](trace::BlockWriter& w) { return w.TotalsSnapshot(totals); });
  ReadResidency(buffer);
  if (private_bytes > 0)
    MaybeReadCopiedPages(private_bytes, reason == LedgerReason::kEnd, {buffer, WriteCopiedPages});
  g_sink.RefreshClock();
  if (ClaimPartsTick(reason)) {
    const OwnCallScope own(t_thread);
    CallParts(&Part::on_tick);
  }
}

}  // namespace plateau

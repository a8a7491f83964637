#include "preload/recorder/ledger_events.h"

#include "preload/base/arena.h"
#include "preload/ledger/copied_pages.h"
#include "preload/recorder/parts.h"
#include "preload/recorder/recording.h"
#include "preload/recorder/size_limit.h"
#include "preload/recorder/trace_sink.h"
#include "preload/unwind/capture.h"

namespace plateau {
namespace {

void WriteCopiedPages(void* buffer, std::string_view runs) {
  static_cast<ThreadBuffer*>(buffer)->Append([&](trace::BlockWriter& w) { return w.CopiedPages(runs); });
}

}  // namespace

void RecordLedger(ThreadBuffer* buffer, LedgerReason reason) {
  if (!ClaimLedgerSample(reason, g_rate.coarsened.load(std::memory_order_relaxed))) return;
  const LedgerContext context = {
      .is_forked_child = IsForkedChild(),
      .may_ask_allocator = ForkWasOrderly(),
      .own_bytes = OwnBytes() + unwind::GetCaptureStatistics().own_bytes,
  };
  trace::LedgerRecord record;
  const uint64_t private_bytes = ReadLedger(reason, context, &record);
  const trace::Totals totals = ProcessTotals();
  buffer->StampTime();
  buffer->Append([&](trace::BlockWriter& w) { return w.Ledger(record); });
  buffer->Append([&](trace::BlockWriter& w) { return w.TotalsSnapshot(totals); });
  if (private_bytes > 0) MaybeReadCopiedPages(private_bytes, {buffer, WriteCopiedPages});
  g_sink.RefreshClock();
  if (reason != LedgerReason::kEnd) {
    const OwnCallScope own(t_thread);
    CallParts(&Part::on_tick);
  }
}

}  // namespace plateau

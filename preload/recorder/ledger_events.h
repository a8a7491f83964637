// When a sample of the ledger is taken, and how it gets into the trace. ledger/ knows how to read the numbers
// and nothing of buffers; this file has the buffer, the counters and the rate that go with them.
//
// Samples are taken on the way out of hooks, guard held, so no thread and no signal of ours is needed. Each
// one also carries the exact totals, refreshes the clock of the file header and gives the parts their tick.
// Allocates: never from the traced heap.
#ifndef PLATEAU_PRELOAD_RECORDER_LEDGER_EVENTS_H_
#define PLATEAU_PRELOAD_RECORDER_LEDGER_EVENTS_H_

#include <cstdint>

#include "preload/ledger/ledger.h"
#include "preload/recorder/thread_buffer.h"

namespace plateau {

// Takes a sample unless the last one is too recent or another thread is taking one.
void RecordLedger(ThreadBuffer* buffer, LedgerReason reason);

// Says what there was when the recording began while the program ran, on a call boundary: `attach` with the memory of this
// moment and the age of the process filled in.
void RecordAttach(ThreadBuffer* buffer, trace::AttachRecord attach);

// After an event of `bytes` at `tsc`: takes the sample of every second when it is due.
inline void MaybeRecordLedger(ThreadBuffer* buffer, uint64_t tsc, uint64_t bytes) {
  if (tsc < g_next_ledger_tsc.load(std::memory_order_relaxed)) [[likely]]
    return;
  RecordLedger(buffer, bytes > kUncachedBytes ? LedgerReason::kTickUncached : LedgerReason::kTick);
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_LEDGER_EVENTS_H_

// Readings of the ledger and what the replay knows of the same moment, in bytes.
#ifndef PLATEAU_ANALYZER_PROCESS_LEDGER_SAMPLES_H_
#define PLATEAU_ANALYZER_PROCESS_LEDGER_SAMPLES_H_

#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/heap_replay.h"

namespace plateau::process {

// 0 when the reading does not have it.
inline double LedgerValue(const replay::TimedLedger& reading, trace::LedgerField field) {
  const auto it = reading.fields.find(field);
  return it == reading.fields.end() ? 0 : static_cast<double>(it->second);
}

inline double PoolBytes(const replay::LedgerLive& live, replay::Pool pool) {
  return live.pool_bytes[static_cast<size_t>(pool)];
}
inline double HeapBytes(const replay::LedgerLive& live) { return PoolBytes(live, replay::Pool::kHeap); }
// Live beside the heap: the same pools as the totals of the report, so that no sample is above the peak.
inline double MappedBytes(const replay::LedgerLive& live) {
  return PoolBytes(live, replay::Pool::kMmap) + PoolBytes(live, replay::Pool::kPython);
}

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_LEDGER_SAMPLES_H_

// The allocation events of one block, decoded into a flat array for replay.
//
// Hot events are complete in 32 bytes; rare ones point to their full record. The block owns the bytes its
// records view.
#ifndef PLATEAU_ANALYZER_REPLAY_EVENT_BLOCK_H_
#define PLATEAU_ANALYZER_REPLAY_EVENT_BLOCK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/reader/trace_reader.h"
#include "preload/trace/record.h"

namespace plateau::replay {

enum EventFlags : uint8_t {
  kEventRealloc = 1,  // half of a realloc
  kEventTimed = 2,    // tsc is its own time, not a lower bound
  kEventRare = 4,     // `bytes` is an index into EventBlock::records
};

struct Event {
  uint64_t tsc;
  uint64_t address;
  uint64_t bytes;
  uint32_t stack;  // as in the trace, not canonical
  trace::RecordKind kind;
  uint8_t flags;
};
static_assert(sizeof(Event) == 32);

struct EventBlock {
  uint32_t stream = 0;
  uint64_t last_tsc = 0;  // when it was sealed; 0 when it never was
  std::vector<Event> events;
  std::vector<trace::Record> records;
  reader::LoadedBlock bytes;
};

// Damage is left to the first pass, which has counted it: what can be decoded is.
absl::Status DecodeEvents(const reader::TraceReader& reader, const reader::BlockRef& ref, EventBlock* block);

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_EVENT_BLOCK_H_

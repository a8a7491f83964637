// Counts blocks whose records cannot be read, with a note about each: for the pass that reads a block first.
//
// The first pass leaves out blocks that say they have events of the heap alone, so their damage is found by
// the second, which hands it on in ReplayResult::damage.
#ifndef PLATEAU_ANALYZER_REPLAY_BLOCK_DAMAGE_H_
#define PLATEAU_ANALYZER_REPLAY_BLOCK_DAMAGE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "analyzer/reader/trace_reader.h"

namespace plateau::replay {

// TraceReader::Load() failed with `status`.
void CountUnloadable(const reader::BlockRef& ref, const absl::Status& status, reader::ReadSummary* summary);

// The record at byte `record_offset` of the payload, and all that follow it, cannot be read.
void CountUnreadable(const reader::TraceReader& reader, const reader::BlockRef& ref, size_t record_offset,
                     reader::ReadSummary* summary);

// Reads a block that IsHeapOnly() once more to say what is wrong with it; nothing may be. Definitions in it
// were not collected: they count as damage.
void CountDamage(const reader::TraceReader& reader, const reader::BlockRef& ref,
                 reader::ReadSummary* summary);

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_BLOCK_DAMAGE_H_

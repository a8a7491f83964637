// Makes a finished trace small: blocks become compressed columns, the ring is dropped.
//
// The packed file is written beside the trace, synced, and renamed over it, so that at every moment one whole
// file is there; a kill leaves the trace as it was and at most a file ".packing" that the next run
// overwrites. Every record is kept, in order, and so are the header's counters; what was damaged stays
// missing. Packing a packed trace changes nothing.
#ifndef PLATEAU_ANALYZER_READER_TRACE_PACKER_H_
#define PLATEAU_ANALYZER_READER_TRACE_PACKER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "analyzer/pack/column_layout.h"

namespace plateau::reader {

struct PackOptions {
  size_t payload_bytes = 4 << 20;  // of records that are packed together, about; up to half as many more
  bool count_costs = false;        // fill PackResult::costs
};

struct PackResult {
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
  bool was_packed = false;  // already; nothing was done
  bool is_running = false;  // its process still writes; nothing was done
  uint64_t records = 0;
  PackCosts costs = {};  // bytes of each column
};

// FailedPrecondition when the trace has damage: packing would throw away what a later version may still read.
absl::StatusOr<PackResult> PackTrace(const std::string& path, const PackOptions& options = {});

// What PackResult::costs has at that place: "malloc.place", "ext 4", ... for people.
std::string ColumnName(size_t column);

}  // namespace plateau::reader

#endif  // PLATEAU_ANALYZER_READER_TRACE_PACKER_H_

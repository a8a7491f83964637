// Packs the records of one stream into a kColumns payload and back, losing nothing.
//
// The records become one kEvents payload, whose bytes are sorted into columns: tags, sizes, stacks, times and
// so on, each compressed by zstd. Bytes go there as they are, with two exceptions: a size is its place in a
// dictionary, and an address says which object is freed, or which freed object's place is used again
// (heap_objects.h). Records of unknown kinds are kept like all extended ones, by their length.
// docs/trace-format.md is the whole of it; all state begins and ends with the payload, so packed blocks stay
// independent of each other.
//
// Unpacking takes bytes from anywhere: it never reads or writes outside its buffers, takes memory that
// raw_bytes and kMaxUnpackedBytes bound, and fails with a status that says what is wrong. Same input, same
// output, on every machine.
#ifndef PLATEAU_ANALYZER_PACK_COLUMN_CODEC_H_
#define PLATEAU_ANALYZER_PACK_COLUMN_CODEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/pack/column_layout.h"
#include "preload/trace/format.h"

namespace plateau {

// One kEvents payload with what its deltas start from.
struct EventsPayload {
  uint64_t first_tsc;
  std::string_view bytes;
};

struct PackedColumns {
  std::string bytes;       // payload of a kColumns block
  uint64_t first_tsc = 0;  // for its header
  uint32_t record_count = 0;
  uint32_t raw_bytes = 0;  // of the payload that UnpackColumns() gives
};

// Packs consecutive payloads of one stream into one. Fails when a payload is damaged; pack what precedes the
// damage instead. `costs`, when given, grows by what each column took.
absl::StatusOr<PackedColumns> PackColumns(const std::vector<EventsPayload>& payloads,
                                          PackCosts* costs = nullptr);

// The records as one kEvents payload whose time starts at header.first_tsc.
absl::StatusOr<std::string> UnpackColumns(const trace::BlockHeader& header, std::string_view packed);

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_COLUMN_CODEC_H_

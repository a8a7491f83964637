// Packs the records of one stream into a kColumns payload and back, losing nothing.
//
// Every field has a column of its own; what a model can predict is replaced by a small number:
//   - which (size, stack) class is allocated or freed next, from the last one, two or three events;
//   - which object is freed: by its place among the objects of its class instead of its address;
//   - which address malloc returns: the last one freed in that size bin, or the one behind the last block;
//   - a stack node's parent, by its distance from the last stack, and its location, by what was called from
//   there before.
// Then each column is compressed with zstd. All state begins and ends with the payload, so packed blocks stay
// independent of each other; the more records go into one, the better it packs.
//
// Unpacking takes bytes from anywhere: it never reads or writes outside its buffers and fails with a status
// that says what is wrong. Same input, same output, on every machine.
#ifndef PLATEAU_ANALYZER_PACK_COLUMN_CODEC_H_
#define PLATEAU_ANALYZER_PACK_COLUMN_CODEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "preload/trace/format.h"

namespace plateau {

// One kEvents payload with what its deltas start from.
struct EventsPayload {
  uint64_t first_tsc;
  std::string_view bytes;
  trace::DeltaRules delta_rules = trace::DeltaRules::kVersion3;
};

struct PackedColumns {
  std::string bytes;       // payload of a kColumns block
  uint64_t first_tsc = 0;  // for its header
  uint32_t record_count = 0;
  uint32_t raw_bytes = 0;  // of the payloads; unpacked they may take a little more or less
};

// Packs consecutive payloads of one stream into one. Fails when a payload is damaged; pack what precedes the
// damage instead. `level` is zstd's.
absl::StatusOr<PackedColumns> PackColumns(const std::vector<EventsPayload>& payloads, int level);

// The records as one kEvents payload whose time starts at header.first_tsc, by the rules of kVersion3.
absl::StatusOr<std::string> UnpackColumns(const trace::BlockHeader& header, std::string_view packed);

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_COLUMN_CODEC_H_

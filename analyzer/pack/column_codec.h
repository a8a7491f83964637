// Packs the records of one stream into a kColumns payload and back, losing nothing.
//
// Every field is predicted from the records before it and an arithmetic coder writes how wrong the prediction
// was, so what follows a pattern costs next to nothing:
//   - which stack and size are allocated next, and which object is freed, from the events before and from the
//     order of birth; an object is named by its place among the living instead of its address;
//   - which address malloc and pymalloc return, by imitating them;
//   - a stack node's parent, by its distance from the last stack, and its location, by what was called from
//     there before;
//   - time in ticks of the processor's clock, from the time the last events took.
// All state begins and ends with the payload, so packed blocks stay independent of each other; the more
// records go into one, the better it packs.
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
#include "analyzer/pack/packed_record.h"
#include "preload/trace/format.h"

namespace plateau {

struct HeapStart;

// One kEvents payload with what its deltas start from.
struct EventsPayload {
  uint64_t first_tsc;
  std::string_view bytes;
};

struct PackedColumns {
  std::string bytes;       // payload of a kColumns block
  uint64_t first_tsc = 0;  // for its header
  uint32_t record_count = 0;
  uint32_t raw_bytes = 0;  // of the payloads; unpacked they may take a little more or less
};

// Packs consecutive payloads of one stream into one. Fails when a payload is damaged; pack what precedes the
// damage instead. `costs`, when given, grows by what each column took. `heap_start`: what HeapTracker says of
// the payloads before and of these, when there are some before; without it they pack worse.
absl::StatusOr<PackedColumns> PackColumns(const std::vector<EventsPayload>& payloads,
                                          PackCosts* costs = nullptr, const HeapStart* heap_start = nullptr);

// The records as one kEvents payload whose time starts at header.first_tsc.
absl::StatusOr<std::string> UnpackColumns(const trace::BlockHeader& header, std::string_view packed);

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_COLUMN_CODEC_H_

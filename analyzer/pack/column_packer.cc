#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/pack/column_codec.h"
#include "analyzer/pack/column_layout.h"
#include "analyzer/pack/record_codec.h"
#include "preload/trace/decoder.h"
#include "preload/trace/varint.h"

namespace plateau {
namespace {

using trace::Record;
using trace::RecordKind;

trace::BlockHeader HeaderOf(const EventsPayload& payload) {
  trace::BlockHeader header{};
  header.first_tsc = payload.first_tsc;
  return header;
}

// Many processors count their clock in steps of more than one. The step is what three distances between times
// have in common, most of the time.
uint64_t FindTick(const EventsPayload& payload) {
  constexpr uint64_t kMostTick = 4096;
  absl::flat_hash_map<uint64_t, uint32_t> votes;
  trace::RecordReader reader(HeaderOf(payload), payload.bytes);
  Record record;
  uint64_t last_tsc = payload.first_tsc, common = 0, tick = 1;
  uint32_t distances = 0, most_votes = 0;
  while (reader.Next(&record)) {
    if (record.tsc <= last_tsc) continue;
    common = std::gcd(common, record.tsc - std::exchange(last_tsc, record.tsc));
    if (++distances % 3 != 0) continue;
    if (const uint64_t found = std::exchange(common, 0); found <= kMostTick) {
      const uint32_t count = ++votes[found];
      if (count > most_votes) {
        most_votes = count;
        tick = found;
      }
    }
  }
  return tick;
}

size_t NumberBytes(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7; }

// `raw` is the record's own bytes; extended records that are not written as a BlockWriter does keep them.
PackedRecord ToPacked(const Record& record, std::string_view raw, uint32_t last_node) {
  PackedRecord packed;
  packed.has_time = record.has_time;
  packed.tsc = record.tsc;
  switch (record.kind) {
    case RecordKind::kAlloc:
      packed.kind = PackedKind::kAlloc;
      packed.address = record.alloc.address;
      packed.bytes = record.alloc.bytes;
      packed.stack = record.alloc.stack;
      packed.is_realloc = record.alloc.is_realloc;
      return packed;
    case RecordKind::kFree:
      packed.kind = PackedKind::kFree;
      packed.address = record.free.address;
      packed.is_realloc = record.free.is_realloc;
      return packed;
    case RecordKind::kAllocIn:
      packed.kind = PackedKind::kAllocIn;
      packed.address = record.alloc_in.address;
      packed.bytes = record.alloc_in.bytes;
      packed.stack = record.alloc_in.stack;
      return packed;
    case RecordKind::kFreeIn:
      packed.kind = PackedKind::kFreeIn;
      packed.address = record.free_in.address;
      return packed;
    case RecordKind::kNode:
      packed.kind = record.node.node == last_node + 1 ? PackedKind::kNode : PackedKind::kOtherNode;
      packed.node = record.node.node;
      packed.parent = record.node.parent;
      packed.location = record.node.location;
      return packed;
    case RecordKind::kPc:
      packed.kind = PackedKind::kPc;
      packed.location = record.pc.location;
      packed.module_or_code = record.pc.module;
      packed.offset = record.pc.offset;
      return packed;
    case RecordKind::kPythonLocation:
      packed.kind = PackedKind::kPythonLocation;
      packed.location = record.python_location.location;
      packed.module_or_code = record.python_location.code;
      packed.offset = record.python_location.offset;
      return packed;
    case RecordKind::kTime:
      packed.kind = PackedKind::kTime;
      return packed;
    case RecordKind::kTensor:
      if (raw.size() != 2 + NumberBytes(record.tensor.address) + NumberBytes(record.tensor.bytes)) break;
      packed.kind = PackedKind::kTensor;
      packed.address = record.tensor.address;
      packed.bytes = record.tensor.bytes;
      return packed;
    case RecordKind::kTensorGone:
      if (raw.size() != 2 + NumberBytes(record.tensor.address)) break;
      packed.kind = PackedKind::kTensorGone;
      packed.address = record.tensor.address;
      return packed;
    default:
      break;
  }
  packed.kind = PackedKind::kExtension;
  packed.extension = raw;
  return packed;
}

void AppendNumber(std::string* out, uint64_t value) {
  uint8_t buffer[trace::kMaxVarintBytes];
  out->append(reinterpret_cast<char*>(buffer), static_cast<size_t>(trace::PutVarint(buffer, value) - buffer));
}

}  // namespace

absl::StatusOr<PackedColumns> PackColumns(const std::vector<EventsPayload>& payloads, PackCosts* costs,
                                          const HeapStart* heap_start) {
  PackedColumns packed;
  if (payloads.empty()) return absl::InvalidArgumentError("nothing to pack");
  uint64_t raw_bytes = 0;
  for (const EventsPayload& payload : payloads) raw_bytes += payload.bytes.size();
  if (raw_bytes > UINT32_MAX / 4) return absl::InvalidArgumentError("too many records for one block");
  packed.raw_bytes = static_cast<uint32_t>(raw_bytes);
  packed.first_tsc = payloads.front().first_tsc;
  const uint64_t tick = FindTick(payloads.front());
  BitEncoder encoder;
  RecordCodec<BitEncoder> codec(&encoder, packed.first_tsc, tick, packed.raw_bytes);
  codec.CountCosts(costs);
  if (!codec.CodeStart(heap_start)) return PackColumns(payloads, costs);
  const auto add = [&](PackedRecord record) {
    codec.Code(&record);
    ++packed.record_count;
  };
  for (const EventsPayload& payload : payloads) {
    // The seam between two blocks: the second one's start is a time stamp of its own.
    if (payload.first_tsc > codec.last_tsc()) {
      PackedRecord seam;
      seam.kind = PackedKind::kTime;
      seam.tsc = payload.first_tsc;
      add(seam);
    }
    trace::RecordReader reader(HeaderOf(payload), payload.bytes);
    Record record;
    for (size_t start = 0; reader.Next(&record); start = reader.offset()) {
      add(ToPacked(record, payload.bytes.substr(start, reader.offset() - start), codec.last_node()));
    }
    if (reader.damaged()) {
      return absl::DataLossError(absl::StrCat("damaged record at byte ", reader.offset(), " of a block"));
    }
  }
  PackedRecord end;
  codec.Code(&end);
  packed.bytes.push_back(static_cast<char>(kColumnsVersion));
  AppendNumber(&packed.bytes, tick);
  packed.bytes += encoder.Finish();
  return packed;
}

}  // namespace plateau

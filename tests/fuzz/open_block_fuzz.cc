// A ring slot while it is written: after each step of the writer, and with the bytes of the next step already behind the committed
// length, a reader finds exactly the records that were committed. The input chooses the records and where they are looked at.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "preload/trace/decoder.h"
#include "preload/trace/encoder.h"

namespace {

using namespace plateau::trace;

constexpr size_t kPayloadBytes = 512;  // everything is read again after each step

struct Slot {
  BlockHeader header;
  uint8_t payload[kPayloadBytes];
};

// Reads what the slot's header says was committed.
void Look(const Slot& slot, uint32_t committed_records) {
  const Slot copy = slot;
  if (copy.header.payload_bytes > kPayloadBytes) std::abort();
  RecordReader reader(copy.header, {reinterpret_cast<const char*>(copy.payload), copy.header.payload_bytes});
  Record record;
  uint32_t found = 0;
  while (reader.Next(&record)) ++found;
  // A run of nodes is one record that may be made longer in place.
  if (found < committed_records) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Slot slot;
  BlockWriter writer;
  std::memset(&slot, 0xa5, sizeof(slot));
  writer.Start(&slot.header, slot.payload, kPayloadBytes, 1, 0, 1000);
  uint64_t tsc = 1000, address = 4096;
  uint32_t node = 1, committed = 0;
  const uint8_t* const end = data + size;
  while (end - data >= 4) {
    const uint8_t op = data[0], a = data[1], b = data[2], c = data[3];
    data += 4;
    address += a * 16 + (op >> 6);
    bool was_written = false;
    switch (op % 10) {
      case 0:
      case 1:
        was_written =
            writer.Alloc({address, b * 8u + 1, node > 1 ? c % node : 0u, false}, op& 16 ? tsc += c : 0);
        break;
      case 2:
        was_written = writer.Free({address - b * 16, false}, op& 16 ? tsc += c : 0);
        break;
      case 3:
        was_written = writer.Node({node, node > 1 ? node - 1 - b % node : 0, c});
        if (was_written) ++node;
        break;
      case 4:
        was_written = writer.Time(tsc += b);
        break;
      case 5:
        was_written = writer.Info(
            "key", {reinterpret_cast<const char*>(data), static_cast<size_t>(end - data) < b ? 0u : b});
        break;
      case 6:
        was_written = writer.AllocIn({address, b, c}, tsc += a);
        break;
      case 7:
        was_written = writer.Mark({MarkKind::kNote, MarkSource::kExplicit, b, "x"});
        break;
      case 8:
        was_written = writer.FreeIn({address}, tsc);
        break;
      case 9:
        was_written = writer.Pc({c, b, a * 16u});
        break;
    }
    if (!was_written) break;
    if (op % 10 != 3) ++committed;
    Look(slot, committed);
    // Bytes of a record that is being written, behind the committed length.
    const size_t used = slot.header.payload_bytes;
    if (kPayloadBytes - used >= 8) {
      std::memset(slot.payload + used, c, 8);
      Look(slot, committed);
    }
  }
  return 0;
}

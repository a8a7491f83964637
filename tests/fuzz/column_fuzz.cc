// Feeds bytes to the unpacker of kColumns blocks, and bytes taken as records through both directions.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "analyzer/pack/column_codec.h"
#include "analyzer/pack/heap_tracker.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  plateau::trace::BlockHeader header{};
  header.raw_bytes = 4096;
  (void)plateau::UnpackColumns(header, bytes);
  // The same as the decisions of a block: version, tick and, in version 3, no extended records.
  (void)plateau::UnpackColumns(header, std::string("\x05\x01", 2).append(bytes));
  (void)plateau::UnpackColumns(header, std::string("\x04\x01", 2).append(bytes));
  (void)plateau::UnpackColumns(header, std::string("\x03\x01\x00\x00", 4).append(bytes));

  // As a first block, and as one whose heap was used before.
  plateau::HeapTracker tracker;
  (void)tracker.Follow({{1000, bytes}}, false);
  const plateau::HeapStart start = tracker.Follow({{1000, bytes}}, true);
  for (const plateau::HeapStart* heap_start : {static_cast<const plateau::HeapStart*>(nullptr), &start}) {
    const auto packed = plateau::PackColumns({{1000, bytes}}, nullptr, heap_start);
    if (!packed.ok()) return 0;
    header.raw_bytes = packed->raw_bytes;
    header.first_tsc = packed->first_tsc;
    header.record_count = packed->record_count;
    if (!plateau::UnpackColumns(header, packed->bytes).ok()) std::abort();  // what was packed must come back
  }
  return 0;
}

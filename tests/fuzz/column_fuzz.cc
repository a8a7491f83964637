// Feeds bytes to the unpacker of kColumns blocks, and bytes taken as records through both directions.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "analyzer/pack/column_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  plateau::trace::BlockHeader header{};
  for (const uint32_t raw_bytes : {0u, 64u, 4096u}) {
    header.raw_bytes = raw_bytes;
    (void)plateau::UnpackColumns(header, bytes);
  }
  const auto packed = plateau::PackColumns({{1000, bytes}});
  if (!packed.ok()) return 0;
  header.raw_bytes = packed->raw_bytes;
  header.first_tsc = packed->first_tsc;
  header.record_count = packed->record_count;
  if (!plateau::UnpackColumns(header, packed->bytes).ok()) std::abort();  // what was packed must come back
  return 0;
}

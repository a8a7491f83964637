// Line tables of Python code objects: two bytes of version, two of an offset, then the table.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "analyzer/symbols/python_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  uint16_t offset;
  std::memcpy(&offset, data + 2, sizeof(offset));
  const auto version = static_cast<uint16_t>(data[0] % 5 << 8 | data[1] % 16);
  // A copy of its own, so that a read behind the end is noticed.
  const std::string table(reinterpret_cast<const char*>(data) + 4, size - 4);
  volatile int line = plateau::symbols::PythonLine(version, 10, table, offset);
  (void)line;
  return 0;
}

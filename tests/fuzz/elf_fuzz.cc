// An ELF file from anywhere: symbols, inlined frames and lines of a few addresses.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "analyzer/symbols/elf_image.h"
#include "analyzer/symbols/python_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plateau;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const uint16_t version : {0x308, 0x30a, 0x30c})
    symbols::PythonLine(version, 1, bytes.substr(0, 4096), 64);
  const int fd = memfd_create("image", MFD_CLOEXEC);
  if (fd < 0) return 0;
  if (write(fd, data, size) == static_cast<ssize_t>(size)) {
    const auto image = symbols::ElfImage::Open("/proc/self/fd/" + std::to_string(fd), "");
    if (image.ok()) {
      for (const uint64_t address : {0x10ull, 0x1000ull, 0x1139ull, 0x401000ull, ~0ull}) {
        (*image)->SymbolAt(address);
        (*image)->Resolve(address);
      }
    }
  }
  close(fd);
  return 0;
}

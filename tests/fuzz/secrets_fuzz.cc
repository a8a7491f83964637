// Command lines of any program, and filters of any sandbox, as the shim reads them inside the process.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "preload/base/system_filter.h"
#include "preload/ledger/secrets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plateau;
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (data[0] % 2 == 0) {
    std::vector<char> out(data[1] * 8u + 1, 'x');
    if (MaskArguments(text, out.data(), out.size()) > out.size()) std::abort();
    if (MaskValue(text.substr(0, 8), text, out.data(), out.size()) > out.size()) std::abort();
    return 0;
  }
  std::vector<sock_filter> code(text.size() / sizeof(sock_filter));
  if (code.empty()) return 0;
  std::memcpy(code.data(), text.data(), code.size() * sizeof(sock_filter));
  const sock_fprog program = {static_cast<unsigned short>(code.size()), code.data()};
  (void)sys::FilteredCalls(program);
  return 0;
}

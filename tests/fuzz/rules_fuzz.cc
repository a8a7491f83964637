// Files of rules (`plateau check --rules`) and suppressions.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analyzer/report/check.h"
#include "analyzer/report/suppressions.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plateau::report;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  (void)ParseCheckRules(text);
  (void)Suppressions::Parse(text);
  return 0;
}

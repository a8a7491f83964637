// The JSON of a report, of verdict cases and of event vectors, from anywhere.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analyzer/report/json/json_report.h"
#include "analyzer/verdict/cases/case_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plateau;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      (void)report::ReadJsonReport({text.data(), text.size()});
      break;
    case 1:
      (void)verdict::ParseJsonCases(text, "case", {});
      break;
    case 2: {
      const size_t half = text.find('\x1e');
      if (half == std::string_view::npos) break;
      (void)verdict::ParseEventCases(text.substr(0, half), text.substr(half + 1), "case", {});
      break;
    }
  }
  return 0;
}

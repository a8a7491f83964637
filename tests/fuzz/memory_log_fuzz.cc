// Feeds bytes to the reader of memory logs, and what it read to the classifier.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analyzer/verdict/cases/case_file.h"
#include "analyzer/verdict/cases/case_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const plateau::verdict::LogOptions& options :
       {plateau::verdict::LogOptions{}, plateau::verdict::LogOptions{"value", 1024}}) {
    const auto cases = plateau::verdict::ParseLogCases(text, "log", {}, options);
    if (!cases.ok()) continue;
    for (const plateau::verdict::VerdictCase& one : *cases) {
      if (one.curve.step.empty() || one.curve.step.size() != one.curve.bytes.size()) std::abort();
      for (double step : one.curve.step) {
        if (!std::isfinite(step)) std::abort();
      }
      if (one.curve.step.size() > 200) continue;  // the classifier is not what is tested
      (void)plateau::verdict::ResultLine(one, plateau::verdict::RunCase(one));
    }
  }
  return 0;
}

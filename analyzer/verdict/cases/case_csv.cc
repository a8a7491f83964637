// A log of step,bytes into a case.
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/verdict/cases/case_file.h"

namespace plateau::verdict {
namespace {

// Factor of a header like rss_mb or "memory (GiB)"; logs in MB are common. 1 when it names no unit.
double UnitOfHeader(std::string_view header) {
  const std::string lower = absl::AsciiStrToLower(absl::string_view(header.data(), header.size()));
  const auto has = [&](const char* unit) { return lower.find(unit) != std::string::npos; };
  if (has("kib") || has("_kb") || has("(kb") || has("[kb")) return 1024;
  if (has("mib") || has("_mb") || has("(mb") || has("[mb")) return 1024.0 * 1024;
  if (has("gib") || has("_gb") || has("(gb") || has("[gb")) return 1024.0 * 1024 * 1024;
  return 1;
}

}  // namespace

absl::StatusOr<VerdictCase> ParseCsvCase(std::string_view text, const std::string& name,
                                         const Defaults& defaults) {
  VerdictCase parsed;
  parsed.id = name;
  parsed.tier = CaseTier::kCurve;
  parsed.run = defaults;
  double unit = 1;
  int line_number = 0;
  bool first = true;
  for (absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++line_number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::ByAnyChar(",;\t "), absl::SkipEmpty());
    double step = 0, bytes = 0;
    const bool numeric = fields.size() >= 2 && absl::SimpleAtod(fields[0], &step) &&
                         absl::SimpleAtod(fields[1], &bytes) && std::isfinite(step) && std::isfinite(bytes);
    if (!numeric) {
      if (!first) {
        return absl::DataLossError(absl::StrCat(name, ": line ", line_number,
                                                ": expected step,bytes, found \"", line.substr(0, 60), "\""));
      }
      unit = UnitOfHeader(std::string_view(line.data(), line.size()));
      first = false;
      continue;
    }
    first = false;
    parsed.curve.step.push_back(step);
    parsed.curve.bytes.push_back(bytes * unit);
  }
  if (parsed.curve.step.empty()) return absl::DataLossError(absl::StrCat(name, ": no line holds step,bytes"));
  if (parsed.run.steps == 0) parsed.run.steps = static_cast<int64_t>(parsed.curve.step.back());
  return parsed;
}

}  // namespace plateau::verdict

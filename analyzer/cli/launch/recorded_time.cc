#include "analyzer/cli/launch/recorded_time.h"

#include <time.h>

#include <algorithm>

#include "absl/strings/str_format.h"

namespace plateau::cli {

uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t CoveredNs(std::vector<std::pair<uint64_t, uint64_t>> spans, uint64_t begin, uint64_t end) {
  std::sort(spans.begin(), spans.end());
  uint64_t covered = 0, reached = begin;
  for (const auto& [from, to] : spans) {
    const uint64_t first = std::max(from, reached), last = std::min(to, end);
    if (last <= first) continue;
    covered += last - first;
    reached = last;
  }
  return covered;
}

std::string LostTime(const reader::Recording& recording, uint64_t begin_ns, uint64_t end_ns) {
  constexpr double kSecond = 1e9;
  std::vector<std::pair<uint64_t, uint64_t>> spans;
  for (const reader::TraceFile& trace : recording.traces) {
    spans.emplace_back(trace.header.start_monotonic_ns, trace.header.clock_monotonic_ns);
  }
  const double run = static_cast<double>(end_ns - begin_ns) / kSecond;
  const double recorded = static_cast<double>(CoveredNs(std::move(spans), begin_ns, end_ns)) / kSecond;
  if (run < 1 || recorded > 0.1 * run) return "";
  return absl::StrFormat(
      "only %.2f s of %.1f s were recorded: the program left the recorder behind (env -i, an LD_PRELOAD of "
      "its own, a "
      "static program) or allocated nothing after that",
      recorded, run);
}

}  // namespace plateau::cli

#include "analyzer/replay/definitions/spread_residency.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

namespace plateau::replay {
namespace {

constexpr uint64_t kMostParts = 16;
constexpr uint64_t kLeastPart = 64 << 10;  // bytes

// The sample of the ledger before the one that a look at `tsc` belongs to, which is at the same time or just before
// it; 0: there is none.
uint64_t LookBefore(const std::vector<TimedLedger>& ledger, uint64_t tsc, uint64_t not_before) {
  auto sample = std::upper_bound(ledger.begin(), ledger.end(), tsc,
                                 [](uint64_t time, const TimedLedger& one) { return time < one.tsc; });
  if (sample - ledger.begin() < 2) return 0;
  return std::max((sample - 2)->tsc, not_before);
}

}  // namespace

std::vector<TimedResidency> SpreadResidency(const std::vector<TimedResidency>& readings,
                                            const std::vector<TimedLedger>& ledger) {
  using Region = std::tuple<trace::RegionKind, uint64_t, uint64_t>;
  std::map<Region, const TimedResidency*> last;
  std::vector<TimedResidency> all;
  all.reserve(readings.size());
  for (const TimedResidency& now : readings) {
    const Region region(now.region.kind, now.region.address, now.region.birth_tsc);
    const TimedResidency*& before = last[region];
    if (before != nullptr && now.region.bytes == before->region.bytes &&
        now.region.resident_bytes > before->region.resident_bytes) {
      const uint64_t from = LookBefore(ledger, now.tsc, before->tsc);
      const uint64_t grown = now.region.resident_bytes - before->region.resident_bytes;
      const uint64_t parts = std::min(kMostParts, grown / kLeastPart);
      for (uint64_t part = 1; from != 0 && part < parts; ++part) {
        TimedResidency between = now;
        between.tsc = from + (now.tsc - from) / parts * part;
        between.region.resident_bytes = before->region.resident_bytes + grown / parts * part;
        all.push_back(between);
      }
    }
    all.push_back(now);
    before = &now;
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const TimedResidency& a, const TimedResidency& b) { return a.tsc < b.tsc; });
  return all;
}

}  // namespace plateau::replay

#include "analyzer/replay/residency_book.h"

#include <algorithm>

namespace plateau::replay {

using trace::RegionKind;
using trace::ResidencyRecord;

ResidencyBook::ResidencyBook(const std::vector<TimedResidency>* readings) : readings_(*readings) {
  for (uint32_t i = 0; i < readings_.size(); ++i) {
    const ResidencyRecord& reading = readings_[i].region;
    std::vector<uint32_t>& known = first_[reading.birth_tsc];
    const bool is_known = std::any_of(known.begin(), known.end(), [&](uint32_t k) {
      return readings_[k].region.kind == reading.kind && readings_[k].region.address == reading.address;
    });
    if (!is_known) known.push_back(i);
  }
}

uint64_t ResidencyBook::FirstOfBlock(uint64_t address, uint64_t bytes, uint64_t birth_tsc) const {
  if (first_.empty()) return bytes;
  const auto found = first_.find(birth_tsc);
  if (found == first_.end()) return bytes;
  for (const uint32_t i : found->second) {
    const ResidencyRecord& reading = readings_[i].region;
    if (reading.kind == RegionKind::kBlock && reading.address == address && reading.bytes == bytes) {
      return std::min(reading.resident_bytes, bytes);
    }
  }
  return bytes;
}

std::optional<uint64_t> ResidencyBook::FirstOfMap(uint64_t begin, uint64_t end, uint64_t birth_tsc) const {
  const auto found = first_.find(birth_tsc);
  if (found == first_.end()) return std::nullopt;
  std::optional<uint64_t> bytes;
  for (const uint32_t i : found->second) {
    const ResidencyRecord& reading = readings_[i].region;
    if (reading.kind != RegionKind::kMap || reading.address < begin || reading.address >= end) continue;
    bytes = std::min(bytes.value_or(0) + std::min(reading.resident_bytes, reading.bytes), end - begin);
  }
  return bytes;
}

}  // namespace plateau::replay

#include "analyzer/replay/stack_totals.h"

namespace plateau::replay {

const char* PoolName(Pool pool) {
  static constexpr const char* kNames[] = {"host",          "python", "mmap",    "shared",
                                           "python arenas", "files",  "reserved"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kPools);
  return kNames[static_cast<size_t>(pool)];
}

void StackTotals::SettlePeaks() {
  for (uint32_t i = 0; i < rows_.size(); ++i) Touch(i);
}

}  // namespace plateau::replay

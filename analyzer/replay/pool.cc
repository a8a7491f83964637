#include "analyzer/replay/pool.h"

namespace plateau::replay {

const char* PoolName(Pool pool) {
  static constexpr const char* kNames[] = {"host",          "python", "mmap",    "shared",
                                           "python arenas", "files",  "reserved"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kPools);
  return kNames[static_cast<size_t>(pool)];
}

}  // namespace plateau::replay

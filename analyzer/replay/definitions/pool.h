// Where memory comes from.
#ifndef PLATEAU_ANALYZER_REPLAY_DEFINITIONS_POOL_H_
#define PLATEAU_ANALYZER_REPLAY_DEFINITIONS_POOL_H_

#include <cstddef>
#include <cstdint>

namespace plateau::replay {

// The pools from kArena on are totals without rows: what is inside arenas is counted by object, file pages
// belong to the page cache, and reserved address space is not memory. kUntouched is the part of large blocks
// of malloc's that is not in memory yet.
enum class Pool : uint8_t { kHeap, kPython, kMmap, kShared, kArena, kFile, kReserved, kUntouched, kCount };
inline constexpr size_t kPools = static_cast<size_t>(Pool::kCount);
constexpr const char* PoolName(Pool pool) {
  constexpr const char* kNames[] = {"host",          "python", "mmap",     "shared",
                                    "python arenas", "files",  "reserved", "untouched"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kPools);
  return kNames[static_cast<size_t>(pool)];
}
constexpr bool HasRows(Pool pool) { return pool < Pool::kArena; }

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_DEFINITIONS_POOL_H_

// Memory of our own: anonymous pages straight from the kernel, never the traced heap.
//
// Pieces are page-sized or larger and usually live as long as the process. Safe everywhere. Locks: never. A
// refusal by the kernel returns null. OwnBytes() is what the ledger reports as Plateau's share.
#ifndef PLATEAU_PRELOAD_BASE_ARENA_H_
#define PLATEAU_PRELOAD_BASE_ARENA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/base/system_call.h"

namespace plateau {

inline constinit std::atomic<int64_t> g_own_bytes{0};

inline void CountOwnBytes(int64_t change) { g_own_bytes.fetch_add(change, std::memory_order_relaxed); }
inline uint64_t OwnBytes() {
  const int64_t bytes = g_own_bytes.load(std::memory_order_relaxed);
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

// Zeroed, page-aligned memory; null when the kernel refuses.
inline void* ArenaMap(size_t bytes) {
  void* p = sys::MapAnonymous(bytes);
  if (p != nullptr) CountOwnBytes(static_cast<int64_t>(bytes));
  return p;
}

inline void ArenaUnmap(void* p, size_t bytes) {
  sys::Munmap(p, bytes);
  CountOwnBytes(-static_cast<int64_t>(bytes));
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_ARENA_H_

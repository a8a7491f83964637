// The process's memory as others see it: resident, allocator, cgroup, machine, and Plateau's own share.
//
// This room reads numbers and knows no buffer; recorder/ledger_events.h decides when it is asked and writes
// the answer. At least one sample a second is due while the program allocates, and one at each step mark, but
// never two within kMinIntervalMs. A program without marks that is over in half a second would have one reading
// then: until its first mark, samples are a kQuickShare-th of the time passed apart, not less than kQuickIntervalMs
// and not more than a second. These are some 100 in all. No descriptor is kept open. A sample costs some 50 us.
//
// mallinfo2() takes the arena locks, so it runs only where this thread cannot hold one: at marks, and after a
// request that was too large for the per-thread cache and therefore just took and released the lock. It walks
// the free lists; when that takes long it is asked less often, so that it stays under 1/200 of the time.
//
// Threads: any may ask; ClaimLedgerSample() lets one through. Allocates: never. errno is left as it was.
#ifndef PLATEAU_PRELOAD_LEDGER_LEDGER_H_
#define PLATEAU_PRELOAD_LEDGER_LEDGER_H_

#include <atomic>
#include <cstdint>

#include "preload/trace/record.h"

namespace plateau {

inline constexpr uint64_t kLedgerIntervalMs = 1000;
inline constexpr uint64_t kMinIntervalMs = 50;
inline constexpr uint64_t kQuickIntervalMs = 10;
inline constexpr uint64_t kQuickShare = 16;
inline constexpr uint64_t kSampleCostDivisor =
    100;  // samples take at most this part of the time, but for marks
// Both intervals grow by 4 whenever the size limit makes the trace coarser, but not more often than this.
inline constexpr uint32_t kMaxCoarser = 5;
// Larger requests are not served from libc's per-thread cache.
inline constexpr uint64_t kUncachedBytes = 1040;

enum class LedgerReason : uint8_t { kTick, kTickUncached, kMark, kEnd };

// What the ledger cannot find out for itself.
struct LedgerContext {
  bool is_forked_child;    // the process shares pages with its parent
  bool may_ask_allocator;  // libc's locks are in order: no child of a clone() that libc did not see
  uint64_t own_bytes;      // Plateau's own memory in this process
};

// Finds the cgroup and its limits. Called when recording starts, and again in a forked child.
void StartLedger();

// Whether the caller shall take a sample now; true for one thread at a time. `coarser` is how often the size
// limit has made the trace coarser. LedgerReason::kEnd is never too early.
bool ClaimLedgerSample(LedgerReason reason, uint32_t coarser);

// Reads the numbers into `record`. Returns the bytes that a forked child shares with nobody, 0 when they are
// unknown or the process is no such child.
uint64_t ReadLedger(LedgerReason reason, const LedgerContext& context, trace::LedgerRecord* record);

// How many bytes may still be taken before the cgroup's limit, or the machine's memory, is reached; UINT64_MAX when
// that is not known. Reads two files.
uint64_t MemoryLeft();

// Whether the parts shall have their tick with this sample: at marks, and once a second at others.
bool ClaimPartsTick(LedgerReason reason);

// When the next sample is due although no mark asks for one.
[[gnu::visibility("hidden")]] extern std::atomic<uint64_t> g_next_ledger_tsc;

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_LEDGER_LEDGER_H_

// How much of each large block and map is in memory, looked at again and again while it fills.
//
// A request of 1 GiB is 1 GiB of address space; memory it becomes page by page, as the program writes. An
// array of zeros, an allocator's arena and a buffer that is filled over hours would all count as live from
// their first moment. So blocks and anonymous maps of kFollowedBytes and more are followed: mincore() is asked
// at samples of the ledger which of their pages are there, and a RESIDENCY record is written when that has
// changed. A block that is found whole is forgotten; most are.
//
//   Cost: 0.2 to 0.7 ms per GiB of address space asked about (pagemap takes 1 to 40). At most kMaxScanNs at a
//   time and a 200th of the thread's time; a region in which nothing moves is asked about less often.
//
// At most kMaxRegions are followed; others are counted by missed(). Pages that were only read count too, the
// kernel shows its page of zeros for them. Where the kernel does not answer, or the program gives itself a
// system call filter while it runs, nothing is asked any more and state() says why.
//
// Threads: any may follow and forget; one reads at a time. Allocates: never. Locks: one, for some 100 ns.
// Failure: a region that is not followed counts by its size. errno is not touched.
#ifndef PLATEAU_PRELOAD_LEDGER_RESIDENCY_H_
#define PLATEAU_PRELOAD_LEDGER_RESIDENCY_H_

#include <cstddef>
#include <cstdint>

#include "preload/trace/record.h"

namespace plateau {

inline constexpr size_t kFollowedBytes = 1 << 20;
inline constexpr size_t kMaxRegions = 256;
// Of a region that is too large to be asked about, only the reservation is known.
inline constexpr uint64_t kMaxRegionBytes = uint64_t{64} << 30;

// Called before the first sample, and again in a forked child: regions of the parent are not in its trace.
void ResetResidency();

// `birth_tsc` is the time stamp of the record that made it. Too small ones are ignored.
void FollowRegion(trace::RegionKind kind, uintptr_t address, size_t bytes, uint64_t birth_tsc);
// A block is freed. Call for those of kFollowedBytes and more.
void ForgetBlock(uintptr_t address);
// [address, address + bytes) is unmapped; a map may lose its head, its tail or its middle.
void ForgetMaps(uintptr_t address, size_t bytes);

struct ResidencySink {
  void* context;
  void (*write)(void* context, const trace::ResidencyRecord& record);
};

// Asks about what is due and writes what has changed.
void MaybeReadResidency(const ResidencySink& sink);

enum class ResidencyState : uint8_t {
  kOpen,
  kClosed,  // the kernel does not answer
  kFilter,  // the program gave itself a filter of system calls
};
ResidencyState GetResidencyState();
// Tells how many system call filters the process has, from /proc/self/status. The first answer is what it
// began with; when there are more later, nothing is asked any more.
void NoteSystemCallFilters(uint64_t count);
// Regions that found no place in the table, or no lock.
uint64_t MissedRegions();
// How many are followed now.
size_t FollowedRegions();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_LEDGER_RESIDENCY_H_

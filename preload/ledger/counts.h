// How many files a process has open and how many mappings it has: both have limits, and both may pile up while no
// byte of the heap does.
//
//   Cost: since Linux 6.2 the kernel knows the number of open files (fstat of /proc/self/fd); before, the folder is
//   listed, at about 0.3 us for each. Mappings are the lines of /proc/self/maps, 0.3 to 0.6 us for each. What it
//   took, 200 times, is the pause before that is counted again.
//
// Threads: any may ask; one reads at a time. Allocates: never. Locks: none of ours. errno is not touched.
// Failure: what cannot be read is no field.
#ifndef PLATEAU_PRELOAD_LEDGER_COUNTS_H_
#define PLATEAU_PRELOAD_LEDGER_COUNTS_H_

#include <cstdint>
#include <optional>

#include "preload/trace/record.h"

namespace plateau {

inline constexpr uint64_t kCountCostDivisor = 200;

// Called before the first sample, and again in a forked child.
void ResetCounts();

// Adds kOpenFiles and kMappings to `record` when they are due.
void AddCounts(uint64_t now, trace::LedgerRecord* record);

// Without the descriptor that asking needs.
std::optional<uint64_t> CountOpenFiles();
std::optional<uint64_t> CountMappings();

// The same by listing the folder, as kernels before 6.2 need it.
std::optional<uint64_t> ListOpenFiles(int folder);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_LEDGER_COUNTS_H_

// Which blocks are asked for: of the stacks whose live bytes have grown most since the last look, up to 64 each. Device and
// pinned memory have every other place, when there is such memory.
//
//   Look()     adds up the live recorded blocks by stack; remembers the sums for the next look
//   Choose()   the stacks, and of each a random sample of its blocks
//
// The tables of live blocks are those of the sampler, which exact mode does not keep, and the recorder's of device blocks. One thread at a time. Allocates: pages of
// our own, at the first look. Locks: a shard's, for a few hundred entries at a time.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_TARGET_CHOICE_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_TARGET_CHOICE_H_

#include <cstddef>
#include <cstdint>

#include "preload/python/holders/tables/target_table.h"

namespace plateau::python::holders {

// Whether there are tables of live blocks at all.
bool HasLiveTable();

// How many blocks are in the tables.
uint64_t LiveBlocks();

// How many live bytes are in the tables, as the samples stand for them. 0 when there is no memory for the sums.
uint64_t Look();

enum class Wanted : uint8_t {
  kGrown,  // only what has grown since the look before
  kAny,    // that first, then what is largest
};

// Fills the empty `targets`. `stacks` are taken first, whatever their size; ends with a 0.
void Choose(Wanted wanted, const uint32_t* stacks, TargetTable* targets);

// In the child of a fork.
void ForgetLooks();

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_TARGET_CHOICE_H_

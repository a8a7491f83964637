// Stacks of a wanted depth, built without frame pointers as distributions build code.
#ifndef PLATEAU_BENCH_PRELOAD_CALL_CHAIN_H_
#define PLATEAU_BENCH_PRELOAD_CALL_CHAIN_H_

#include <cstdint>

namespace plateau::bench {

using Callback = void (*)(void* argument);

// Calls `callback` from `depth` frames further down, each of one of 16 functions.
void CallDeep(unsigned depth, Callback callback, void* argument);

// Calls `callback` through 1 to 3 frames chosen by `path`, among 64 paths.
void CallThroughLeaf(uint64_t path, Callback callback, void* argument);

// Calls `callback` through the same leaf frames, from one of two call sites far from the leaf.
void CallFromSite(bool second_site, unsigned depth, Callback callback, void* argument);

}  // namespace plateau::bench

#endif  // PLATEAU_BENCH_PRELOAD_CALL_CHAIN_H_

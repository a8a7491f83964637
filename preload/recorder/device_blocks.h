// The device and pinned blocks that live: what a look for holders may ask for besides blocks of malloc.
//
//   segment of torch's allocator   cudaMalloc       -> in
//   tensor inside it               torch's report   -> in, in place of the segment that begins at the same address
//
// Each is in it by its address, which is what a tensor's storage has. Memory that malloc gave and was pinned later is not
// (malloc's table has it), nor is what a CUDA graph keeps for itself, nor what another process pays for. The end of a context
// is not followed: what it frees stays until its address is given out again, and no object is found for it.
//
// Locks: one shard's of the set, for a bounded time. Allocates: never from the traced heap.
#ifndef PLATEAU_PRELOAD_RECORDER_DEVICE_BLOCKS_H_
#define PLATEAU_PRELOAD_RECORDER_DEVICE_BLOCKS_H_

#include <cstdint>

#include "preload/recorder/device_event.h"
#include "preload/sampler/sample_set.h"

namespace plateau {

extern SampleSet g_device_blocks;

// Before the event's memory reaches the program, or goes back. `stack`: who asked for it; 0 when that is not known.
void NoteDeviceBlock(const struct plateau_device_event& event, uint32_t stack);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_DEVICE_BLOCKS_H_

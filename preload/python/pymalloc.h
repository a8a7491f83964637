// Python's small objects, sampled inside pymalloc.
//
// Requests of at most 512 bytes come from pymalloc's arenas, where malloc() does not see them, and an arena
// says nothing about the line that fills it. So the allocators of the MEM and OBJ domains are wrapped (not
// RAW, which is malloc) by PyMem_SetAllocator(), and small requests are sampled by bytes, in exact mode too:
// they outnumber all others, and recording each (PythonAlloc::kExact) costs more than the rest together.
// Larger ones reach malloc and are recorded there; nothing is counted twice. No header is put in
// front of a block: which blocks were sampled is kept in a set of our own, so the wrappers may come and go.
//
// The arena allocator is wrapped too, so that HookMmap() can tell arenas from the program's own mappings.
//
// Installed before Py_Initialize(), or later by a thread that holds the GIL. PYTHONMALLOC and the development
// mode replace the allocators while Python starts; CheckPymalloc() notices and wraps again, or says why not.
// Allocates: never. Locks: a shard of the sample set, for a bounded time.
#ifndef PLATEAU_PRELOAD_PYTHON_PYMALLOC_H_
#define PLATEAU_PRELOAD_PYTHON_PYMALLOC_H_

#include <cstddef>
#include <cstdint>

#include "preload/sampler/sample_set.h"

namespace plateau::python {

// pymalloc's own limit, in all versions.
inline constexpr size_t kSmallRequestBytes = 512;

enum class PymallocState : uint8_t {
  kOff,       // not asked for, no interpreter, or not installed yet
  kSampling,  // the wrappers are in place; they sample objects or record each
  kMalloc,    // PYTHONMALLOC=malloc: every object reaches malloc by itself
  kReplaced,  // somebody replaced the wrappers, and they could not be put back so far
};

// Wraps the allocators if that can be done now.
void InstallPymalloc();

// Takes the wrappers out again: now when this thread holds the interpreter's lock, else at the next sample of one that
// does. Until then they pass requests on.
void LeavePymalloc();

// Called by the recorder's tick. True when the state has changed.
bool CheckPymalloc();

PymallocState GetPymallocState();

// Whether each small object is recorded: on request, until the size limit asks for sampling.
bool RecordsEachObject();

// The sampled objects that live.
SampleSet& PymallocSamples();

// True while the calling thread maps or unmaps an arena (or a chunk of the frame stack, from the same
// allocator).
bool InArenaAllocator();

// In the child of a fork: blocks that the parent sampled are not in the child's trace.
void ResetPymallocInChild();

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_PYMALLOC_H_

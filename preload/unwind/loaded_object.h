// Which loaded object holds an address, without the loader's lock.
//
// glibc >= 2.35 answers through _dl_find_object: lock-free and safe in signal handlers. Older ones have only
// dl_iterate_phdr, which locks; there a snapshot is taken outside the hot path, by PrepareObjectLookup() and,
// after each dlclose, by RefreshObjectSnapshot(). An address in none of its objects is looked up in the
// kernel's list of maps (preload/base/mapped_code.h): that is how libraries are seen that were loaded since.
// Allocates: never (snapshots are mapped). Locks: look-ups never; a refresh takes the loader's lock and waits a
// bounded time for another writer.
#ifndef PLATEAU_PRELOAD_UNWIND_LOADED_OBJECT_H_
#define PLATEAU_PRELOAD_UNWIND_LOADED_OBJECT_H_

#include <cstddef>
#include <cstdint>

#include "preload/unwind/byte_reader.h"

namespace plateau::unwind {

struct LoadedObject {
  uintptr_t begin = 0;  // first mapped byte
  uintptr_t end = 0;    // one past the last; 0: no object
  uintptr_t load_bias = 0;
  const uint8_t* eh_frame_hdr = nullptr;  // nullptr: has no unwind table
  const char* path = "";                  // valid while the object is loaded
  const void* identity = nullptr;         // differs between objects that are loaded at the same time
  const void* segments = nullptr;         // its program headers (ElfW(Phdr)); nullptr: not known
  size_t segment_count = 0;
};

// Once, before the first look-up, where calls into the loader are allowed.
void PrepareObjectLookup();

// False when the address belongs to no loaded object. `address` is one of code that runs, so that its object
// stays loaded meanwhile: it is on this thread's stack.
bool FindLoadedObject(uintptr_t address, LoadedObject* object);

// The same for an address whose object may be gone: the loader's word as of the last snapshot.
bool FindKnownObject(uintptr_t address, LoadedObject* object);

// Takes a new snapshot when the loader has loaded or unloaded anything; nothing to do when _dl_find_object is there. At most
// kMaxSnapshotObjects objects are kept.
inline constexpr size_t kMaxSnapshotObjects = 2048;
void RefreshObjectSnapshot();

// In the child of a fork, which may have lost a writer.
void ReleaseObjectLookupAfterFork();

// The loaded, readable segment of `object` that holds `p`; empty when none does.
ByteSpan ReadableAround(const LoadedObject& object, const uint8_t* p);

// The GNU build id in the mapped notes of `object`; empty when there is none.
ByteSpan BuildId(const LoadedObject& object);

// Tests only: pretend that the C library has no _dl_find_object.
void UseSnapshotsForTest(bool use_snapshots);

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_LOADED_OBJECT_H_

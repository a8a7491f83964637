// Which loaded object holds an address, without the loader's lock.
//
// glibc >= 2.35 answers through _dl_find_object: lock-free and safe in signal handlers. Older ones have only
// dl_iterate_phdr, which locks; there a snapshot is taken outside the hot path, by PrepareObjectLookup() and,
// after each dlopen and dlclose, by RefreshObjectSnapshot(). A look-up between two snapshots may miss a new
// object: its frames then end the stack, and the rule table asks again later. Allocates: never (snapshots are
// mapped). Locks: look-ups never; a refresh takes the loader's lock and a try-lock.
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

// False when the address belongs to no loaded object.
bool FindLoadedObject(uintptr_t address, LoadedObject* object);

// Takes a new snapshot; nothing to do, and nothing done, when _dl_find_object is there. At most
// kMaxSnapshotObjects objects are kept.
inline constexpr size_t kMaxSnapshotObjects = 2048;
void RefreshObjectSnapshot();

// The loaded, readable segment of `object` that holds `p`; empty when none does.
ByteSpan ReadableAround(const LoadedObject& object, const uint8_t* p);

// The GNU build id in the mapped notes of `object`; empty when there is none.
ByteSpan BuildId(const LoadedObject& object);

// Tests only: pretend that the C library has no _dl_find_object.
void UseSnapshotsForTest(bool use_snapshots);

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_LOADED_OBJECT_H_

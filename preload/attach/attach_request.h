// What the injector of `plateau attach` hands to libplateau_attach.so, and what it gets back: one block of bytes that
// both see. Plain fixed-width fields, no pointers.
//
// The library that is in a process stays there for good, so a later plateau may meet an older one: kAttachVersion says
// whether they understand each other.
#ifndef PLATEAU_PRELOAD_ATTACH_ATTACH_REQUEST_H_
#define PLATEAU_PRELOAD_ATTACH_ATTACH_REQUEST_H_

#include <cstdint>

namespace plateau {

inline constexpr uint32_t kAttachVersion = 1;
// The one symbol that libplateau_attach.so exports: int32_t plateau_attach(AttachRequest*).
inline constexpr char kAttachEntry[] = "plateau_attach";

enum class AttachResult : int32_t {
  kAttached = 0,
  kOtherVersion = 1,
  kRecordsAlready = 2,
  kThreadInside = 3,  // a thread has not come out of a hook of the last recording; try again
  kNoTrace = 4,       // the trace could not be created
  kNotShared = 5,     // it cannot be mapped, so nobody could ask the process to end the recording
};

struct AttachRequest {
  static constexpr uint32_t kOptionBytes = 1024;

  uint32_t version;
  int32_t result;  // AttachResult, written by the library
  // The injector's own code, to which import words of the program point while it waits. 0 when there is none.
  uint64_t blob_begin;
  uint64_t blob_end;
  uint64_t stopped_ns;    // how long the program stood still, as far as it is known
  uint64_t end_after_ms;  // detach by itself after so long; 0: not
  uint64_t end_after_steps;
  // Written by the library.
  uint64_t patched_ns;  // how long the loading thread was held up by looking at all modules
  uint32_t words;       // import words that lead to hooks now
  uint32_t modules;
  uint32_t modules_left_out;  // with words that hold something unexpected, or that were being loaded
  uint32_t program_imports;   // 1 when the main program itself imports functions of the allocator
  // "NAME=value" of preload/base/options.inc, each ended by a 0, an empty one at the end.
  char options[kOptionBytes];
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_ATTACH_ATTACH_REQUEST_H_

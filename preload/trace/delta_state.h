// What a record of a block may refer to: the values of the records before it.
//
// Encoder and decoder keep one each and change it by the same records, so a number that can be told from what
// came before is not written. Begins anew with every block. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_TRACE_DELTA_STATE_H_
#define PLATEAU_PRELOAD_TRACE_DELTA_STATE_H_

#include <cstddef>
#include <cstdint>

#include "preload/trace/format.h"

namespace plateau::trace {

// What was called from a place before: guesses the location of a stack node from its parent's.
class CallPredictor {
 public:
  // The last two locations called from one place, the newer first; 0: none yet.
  struct Guesses {
    uint32_t first;
    uint32_t second;

    void Learn(uint32_t location) {
      if (location == first) return;
      second = first;
      first = location;
    }
  };

  Guesses& From(uint32_t location) { return calls_[location * 2654435761u >> (32 - kBits)]; }

 private:
  static constexpr unsigned kBits = 11;

  Guesses calls_[size_t{1} << kBits];
};

struct DeltaState {
  uint64_t address;  // of ALLOC and FREE
  uint64_t bytes;    // of ALLOC
  uint64_t tsc;
  uint32_t stack;
  uint32_t node;
  uint32_t node_location;
  uint32_t location;                // of PC
  uint64_t offset;                  // of PC
  uint64_t in_any_address;          // of ALLOC_IN and FREE_IN
  uint64_t in_bytes;                // of ALLOC_IN
  uint64_t in_address[kInClasses];  // of ALLOC_IN, by its size
  CallPredictor calls;
};

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_DELTA_STATE_H_

// What the value of a mark kFetchEnd or kFetchStop says about the fetch that ends there.
//
//   bit 0   an end of the data would have been seen (always set in kFetchStop)
//   bit 1   gradients were switched off: whatever the batch is for, it does not train
//   bit 2.. address of the loader's iterator, in units of 16 bytes; 0 = not known
//
// Recordings before this meaning have 0 or 1, which reads the same. Freestanding.
#ifndef PLATEAU_PRELOAD_TRACE_FETCH_MARK_H_
#define PLATEAU_PRELOAD_TRACE_FETCH_MARK_H_

#include <cstdint>

namespace plateau::trace {

struct FetchMark {
  bool knows_stop = false;
  bool gradients_off = false;
  uint64_t iterator = 0;  // address / 16
};

// The name that a loader's note and the marks of its fetches have in common.
constexpr uint64_t IteratorOfAddress(uint64_t address) { return address >> 4; }

constexpr uint64_t EncodeFetchMark(const FetchMark& mark) {
  return mark.iterator << 2 | (mark.gradients_off ? 2u : 0u) | (mark.knows_stop ? 1u : 0u);
}

constexpr FetchMark DecodeFetchMark(uint64_t value) {
  return {(value & 1) != 0, (value & 2) != 0, value >> 2};
}

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_FETCH_MARK_H_

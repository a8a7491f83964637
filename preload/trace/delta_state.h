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

// Guesses the location of a stack node from what followed another location before.
class CallPredictor {
 public:
  // The last two locations that followed one, the newer first; 0: none yet.
  struct Guesses {
    uint32_t first;
    uint32_t second;

    void Learn(uint32_t location) {
      if (location == first) return;
      second = first;
      first = location;
    }
  };

  // What was called from there.
  Guesses& From(uint32_t location) { return guesses_[Hash(2 * location)]; }
  // What its caller called next.
  Guesses& After(uint32_t location) { return guesses_[Hash(2 * location + 1)]; }

 private:
  static constexpr unsigned kBits = 12;
  static size_t Hash(uint32_t key) { return key * 2654435761u >> (32 - kBits); }

  Guesses guesses_[size_t{1} << kBits];
};

// The stack that the NODEs of the block described last, from its root or from where its description began.
// When it is too deep the root side is forgotten.
class StackPath {
 public:
  struct Node {
    uint32_t node;
    uint32_t location;  // 0: not known here
  };

  uint32_t size() const { return size_; }
  // The node so many above the last one.
  const Node& Above(uint32_t distance) const { return nodes_[size_ - 1 - distance]; }
  // How far above the last one `node` is; 0 when it is not there. Children are younger than their parents.
  uint32_t FindAbove(uint32_t node) const {
    for (uint32_t distance = 1; distance < size_; ++distance) {
      if (Above(distance).node <= node) return Above(distance).node == node ? distance : 0;
    }
    return 0;
  }

  void Push(Node node) {
    if (size_ == kMaxNodes) {
      size_ = kMaxNodes / 2;
      for (uint32_t i = 0; i < size_; ++i) nodes_[i] = nodes_[i + kMaxNodes / 2];
    }
    nodes_[size_++] = node;
  }
  void Pop(uint32_t count) { size_ -= count; }
  // How many nodes a path of `size` has after `popped` were taken away and `pushed`, up to 64, were added.
  static uint32_t SizeAfter(uint32_t size, uint32_t popped, uint32_t pushed) {
    const uint32_t sum = size - popped + pushed;
    return sum > kMaxNodes ? sum - kMaxNodes / 2 : sum;
  }
  void Restart(uint32_t parent) {
    size_ = 0;
    Push({parent, 0});
  }

 private:
  static constexpr uint32_t kMaxNodes = 128;

  uint32_t size_;
  Node nodes_[kMaxNodes];
};

// Addresses that were allocated or freed lately, each at the place its number gives.
class RecentAddresses {
 public:
  static size_t PlaceOf(uint64_t address) { return address * 0x9e3779b97f4a7c15u >> (64 - 7); }
  uint64_t At(size_t place) const { return addresses_[place]; }
  void Set(size_t place, uint64_t address) { addresses_[place] = address; }

 private:
  static_assert(kRecentAddresses == 1 << 7);

  uint64_t addresses_[kRecentAddresses];
};

struct DeltaState {
  uint64_t address;  // of ALLOC and FREE
  uint64_t bytes;    // of ALLOC
  uint64_t tsc;
  uint32_t stack;
  uint32_t node;
  uint32_t node_location;
  uint32_t location;                // of PC
  uint32_t code;                    // of PC
  uint64_t offset;                  // of PC
  uint64_t in_any_address;          // of ALLOC_IN and FREE_IN
  uint64_t in_bytes;                // of ALLOC_IN
  uint64_t in_address[kInClasses];  // of ALLOC_IN, by its size
  RecentAddresses recent;           // of ALLOC and FREE
  RecentAddresses in_recent;        // of ALLOC_IN and FREE_IN
  StackPath path;
  CallPredictor calls;
};

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_DELTA_STATE_H_

// What the first byte of a record says about the rest of it, in tables: for reading most records without
// asking one question after the other.
#ifndef PLATEAU_PRELOAD_TRACE_RECORD_SHAPES_H_
#define PLATEAU_PRELOAD_TRACE_RECORD_SHAPES_H_

#include <cstdint>

#include "preload/trace/format.h"
#include "preload/trace/record.h"

namespace plateau::trace {

// An allocation or free: what nearly all records of a trace are.
struct HotRecord {
  uint64_t tsc;
  uint64_t address;
  uint64_t bytes;   // 0 for a free
  uint32_t stack;   // 0 for a free
  RecordKind kind;  // kAlloc, kFree, kAllocIn or kFreeIn
  bool is_realloc;
  bool has_time;
};

// What the first byte of a hot record says. Masks have all bits or none: which numbers a record has is hard
// to predict, so they are taken without a branch.
struct HotShape {
  uint64_t size_mask = 0;    // has a size
  uint64_t stack_mask = 0;   // has a stack
  uint64_t recent_mask = 0;  // its address may be a place of the recent ones
  uint32_t numbers = 1;
  RecordKind kind = RecordKind::kAlloc;
  bool is_hot = false;
  bool has_time = false;
  bool is_realloc = false;

  constexpr HotShape() = default;
  constexpr explicit HotShape(uint8_t tag) {
    const uint8_t flags = tag >> 3;
    const Op op = static_cast<Op>(tag & 7);
    const bool is_in = op == Op::kAllocIn || op == Op::kFreeIn;
    if (op == Op::kAlloc || op == Op::kAllocIn) {
      kind = is_in ? RecordKind::kAllocIn : RecordKind::kAlloc;
      is_hot = true;
      size_mask = Mask((flags & kAllocSameSize) == 0);
      stack_mask = Mask((flags & kAllocSameStack) == 0);
      recent_mask = Mask((flags & kAllocRecent) != 0);
      has_time = (flags & kAllocTime) != 0;
      is_realloc = !is_in && (flags & kAllocRealloc) != 0;
    } else if (op == Op::kFree || op == Op::kFreeIn) {
      kind = is_in ? RecordKind::kFreeIn : RecordKind::kFree;
      is_hot = true;
      recent_mask = Mask((flags & kFreeRecent) != 0);
      has_time = (flags & kFreeTime) != 0;
      is_realloc = !is_in && (flags & kFreeRealloc) != 0;
    }
    numbers += static_cast<uint32_t>(size_mask & 1) + static_cast<uint32_t>(stack_mask & 1) + has_time;
  }

 private:
  static constexpr uint64_t Mask(bool is_set) { return is_set ? UINT64_MAX : 0; }
};
static_assert(sizeof(HotShape) == 32);

struct HotShapes {
  HotShape of[256] = {};
  constexpr HotShapes() {
    for (unsigned tag = 0; tag < 256; ++tag) of[tag] = HotShape(static_cast<uint8_t>(tag));
  }
};
inline constexpr HotShapes kHotShapes;

// Which number of a record is its last, by a bit at that place; 0 for records that are none of the heap. Nothing
// but these, in four cache lines: where the next record begins must be known before it can be looked at, and
// all else can wait.
struct LastNumbers {
  uint8_t of[256] = {};
  constexpr LastNumbers() {
    for (unsigned tag = 0; tag < 256; ++tag) {
      const HotShape shape(static_cast<uint8_t>(tag));
      if (shape.is_hot) of[tag] = static_cast<uint8_t>(1 << (shape.numbers - 1));
    }
  }
};
inline constexpr LastNumbers kLastOfHot;

// What the code of a NODE says. A few that are rare, and long, are left to those who read them one by one.
struct NodeShape {
  uint8_t nodes = 0;    // 0: one of those
  uint8_t numbers = 0;  // 0 or 1
  uint8_t popped = 0;   // nodes that leave the path before

  constexpr NodeShape() = default;
  constexpr explicit NodeShape(uint8_t code) {
    if (code >= kNodeRun && code <= kNodeMaxRun) {
      nodes = code - kNodeRun + 1;
    } else if (code >= kNodeBranch && code < kNodeFarBranchTo) {
      nodes = 1;
      popped = (code - kNodeBranch) % kNodeNearBranches + 1;
      numbers = code >= kNodeBranchTo;
    } else if (code == kNodeCallTo || code == kNodeCallSecond) {
      nodes = 1;
      numbers = code == kNodeCallTo;
    }
  }
};

struct NodeShapes {
  NodeShape of[32] = {};
  constexpr NodeShapes() {
    for (unsigned code = 0; code < 32; ++code) of[code] = NodeShape(static_cast<uint8_t>(code));
  }
};
inline constexpr NodeShapes kNodeShapes;

// The numbers of a record that lies in one word, behind its first byte.
template <typename Join>
class WordNumbers {
 public:
  // `ends`: the upper bit of each byte in which a number ends.
  WordNumbers(uint64_t word, uint64_t ends) : word_(word), ends_(ends) {}

  [[gnu::always_inline]] uint64_t Take() {
    const uint64_t up_to = ends_ ^ (ends_ - 1);
    const uint64_t value = Join::SevenBitsOf(word_, up_to & left_);
    ends_ &= ~up_to;
    left_ &= ~up_to;
    return value;
  }
  // 0, and nothing taken, when the mask is 0.
  [[gnu::always_inline]] uint64_t TakeIf(uint64_t mask) {
    const uint64_t up_to = (ends_ ^ (ends_ - 1)) & mask;
    const uint64_t value = Join::SevenBitsOf(word_, up_to & left_);
    ends_ &= ~up_to;
    left_ &= ~up_to;
    return value;
  }

 private:
  uint64_t word_;
  uint64_t ends_;                        // of numbers that are not taken yet
  uint64_t left_ = 0x7f7f7f7f7f7f7f00u;  // bits of them
};

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_RECORD_SHAPES_H_

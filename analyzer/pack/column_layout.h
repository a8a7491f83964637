// The columns of a packed block. docs/trace-format.md, "Packed blocks", says what each holds.
#ifndef PLATEAU_ANALYZER_PACK_COLUMN_LAYOUT_H_
#define PLATEAU_ANALYZER_PACK_COLUMN_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "preload/trace/format.h"

namespace plateau {

enum Column : uint8_t {
  kColumnTag = 0,
  kColumnTime = 1,
  kColumnNode = 2,
  kColumnLocation = 3,
  kColumnOffset = 4,
  kColumnMalloc = 8,     // the first of those of ALLOC and FREE
  kColumnPymalloc = 20,  // the first of those of ALLOC_IN and FREE_IN
  kColumnExt = 32,       // plus the kind of the record, up to 30
  kColumnOtherExt = 63,  // records of other kinds
  kColumns = 64,
};

// The columns of one allocator, counted from its first.
enum HeapColumn : uint8_t {
  kHeapStack = 0,
  kHeapSize = 1,
  kHeapSizeFar = 2,
  kHeapPlace = 3,
  kHeapPlaceFar = 4,
  kHeapFreed = 5,
  kHeapFreedFar = 6,
  kHeapElder = 7,
  kHeapReused = 8,
  kHeapColumns = 9,
};

// Bytes that each column takes in a packed trace.
using PackCosts = std::array<uint64_t, kColumns>;

inline constexpr char kColumnsVersion = 1;  // the first byte of the payload

// No block unpacks to more than this, whatever its header says.
inline constexpr uint64_t kMaxUnpackedBytes = uint64_t{16} << 20;
// What all columns of a block have, at most: a number takes up to ten bytes where the record has one.
constexpr uint64_t MaxColumnBytes(uint64_t raw_bytes) { return 8 * raw_bytes + 4096; }

inline constexpr uint8_t kExtEscape = 31;  // the kind of the record follows as a number

// How many numbers a NODE of this code has; 0 too for codes that no writer uses.
constexpr unsigned NodeNumbers(uint8_t code) {
  if (code == trace::kNodeExplicit) return 3;
  if (code == trace::kNodeFarBranchTo) return 2;
  return (code >= trace::kNodeBranchTo && code < trace::kNodeFarBranchTo) || code == trace::kNodeCallTo ? 1
                                                                                                        : 0;
}

// The codes of a size.
inline constexpr unsigned kSizeNew = 0;
inline constexpr unsigned kSizeNear = 192;       // entries below it are one byte
inline constexpr uint32_t kMaxSizes = 1u << 14;  // entries of the dictionary

// The codes of the address that an allocation got. Those below kPlaceListed are places in a list, those from
// kPlaceCursor on are cursors.
inline constexpr unsigned kPlaceListed = 40;
inline constexpr unsigned kPlaceCursor = 40;
inline constexpr unsigned kCursors = 16;
inline constexpr unsigned kPlaceFresh = 200;
inline constexpr unsigned kPlaceFreedLast = 201;
inline constexpr unsigned kPlaceFar = 202;
inline constexpr unsigned kPlaceReused = 203;

// The codes of the object that is freed.
inline constexpr unsigned kFreedNear = 40;  // below it: neighbours of the object freed last
inline constexpr unsigned kFreedMiddle = 200;
inline constexpr unsigned kFreedFar = 250;
inline constexpr unsigned kFreedElder = 255;
inline constexpr uint64_t kNearBirths = kFreedMiddle - kFreedNear;
inline constexpr uint64_t kMiddleBirths = kNearBirths + 256 * (kFreedFar - kFreedMiddle);

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_COLUMN_LAYOUT_H_

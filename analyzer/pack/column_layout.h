// The columns of a kColumns payload and the small numbers in them. Shared by the packer and the unpacker
// only.
//
//   payload   version, number of columns, then for each: raw size, packed size (0 = stored raw), bytes
#ifndef PLATEAU_ANALYZER_PACK_COLUMN_LAYOUT_H_
#define PLATEAU_ANALYZER_PACK_COLUMN_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace plateau {

// Version 1 had no pymalloc classes (kOpNewClassIn, kOpUnknownFreeIn) and is otherwise the same.
inline constexpr uint8_t kColumnsVersion = 2;

enum Column : size_t {
  kColumnOp,           // one byte a record, see OpCode
  kColumnSymbol,       // explicit symbols
  kColumnBytes,        // of new classes
  kColumnStack,        // of new classes
  kColumnAddressHint,  // one byte an allocation
  kColumnAddress,      // what the hint does not cover
  kColumnDistance,     // which object of its class is freed
  kColumnTime,
  kColumnNodeId,
  kColumnNodeHint,  // one byte a node: parent
  kColumnNodeParent,
  kColumnLocationHint,  // one byte a node
  kColumnLocation,
  kColumnPcLocation,
  kColumnPcModule,
  kColumnPcOffset,
  kColumnExtension,  // extended records, verbatim, each after its length
  kColumnCount,
};

// Values of kColumnOp. An allocation or a free is a symbol: class << 2 | realloc << 1 | free.
enum OpCode : uint8_t {
  kOpGuess0 = 0,       // the predictor's guess of rank 0, 1, 2
  kOpSymbol = 3,       // an explicit symbol
  kOpNewClass = 4,     // allocation of a class not seen before
  kOpUnknownFree = 5,  // of an address that was not allocated in this payload
  kOpNewClassIn = 6,   // the same two inside pymalloc
  kOpUnknownFreeIn = 7,
  kOpWithTime = 8,  // added to the above: the record has its own time stamp
  kOpRealloc = 16,  // added to kOpNewClass and kOpUnknownFree
  kOpNode = 32,
  kOpNodeNextId = 33,
  kOpPc = 34,
  kOpTime = 35,
  kOpExtension = 36,
};

inline constexpr uint8_t kAddressExplicit = 255;         // bytes
inline constexpr uint8_t kAddressExplicitAligned = 254;  // units of 16
inline constexpr uint8_t kParentRoot = 254;
inline constexpr uint8_t kParentExplicit = 255;
inline constexpr uint8_t kLocationJustDefined = 8;
inline constexpr uint8_t kLocationExplicit = 9;
inline constexpr uint32_t kSymbolFree = 1;
inline constexpr uint32_t kSymbolRealloc = 2;

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_COLUMN_LAYOUT_H_

// One record of a packed block, with the columns its parts belong to.
#ifndef PLATEAU_ANALYZER_PACK_PACKED_RECORD_H_
#define PLATEAU_ANALYZER_PACK_PACKED_RECORD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plateau {

enum class PackedKind : uint8_t {
  kNode,  // its id follows the last one's
  kAlloc,
  kFree,
  kAllocIn,  // inside pymalloc
  kFreeIn,
  kOtherNode,
  kPc,
  kPythonLocation,
  kTime,
  kExtension,
  kEnd,
  kTensor,
  kTensorGone,
};

struct PackedRecord {
  PackedKind kind = PackedKind::kEnd;
  bool is_realloc = false;
  bool has_time = false;
  uint64_t tsc = 0;
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint32_t stack = 0;
  uint32_t node = 0, parent = 0, location = 0;  // location: of PCs and Python's too
  uint32_t module_or_code = 0;
  uint64_t offset = 0;
  std::string_view extension;  // an extended record, verbatim
};

// What the bytes of a packed block are spent on.
enum class PackColumn : uint8_t {
  kKind,
  kSite,  // which stack and size are allocated
  kBytes,
  kAddress,
  kObject,  // which object is freed
  kUnknownFree,
  kHeapStart,  // what is free before the first event
  kTimeFlag,
  kTime,
  kNodeParent,
  kNodeLocation,
  kLocation,
  kTensor,
  kExtension,
  kCount,
};
inline constexpr size_t kPackColumns = static_cast<size_t>(PackColumn::kCount);
inline constexpr std::array<const char*, kPackColumns> kPackColumnNames = {"kind",
                                                                           "site",
                                                                           "size",
                                                                           "address",
                                                                           "object",
                                                                           "unknown free",
                                                                           "heap at the start",
                                                                           "time flag",
                                                                           "time",
                                                                           "node parent",
                                                                           "node location",
                                                                           "location definition",
                                                                           "tensor",
                                                                           "extended records"};

// Bits of each column.
using PackCosts = std::array<double, kPackColumns>;

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_PACKED_RECORD_H_

// The payload of a kColumns block around its records, shared by the packer and the unpacker only.
//
//   version, tick, then the records as RecordCodec writes them
//
// In version 3 what follows the tick is: bytes of the extended records and how many they take when
// compressed, those with zstd (each after its length).
#ifndef PLATEAU_ANALYZER_PACK_COLUMN_LAYOUT_H_
#define PLATEAU_ANALYZER_PACK_COLUMN_LAYOUT_H_

#include <algorithm>
#include <bit>
#include <cstdint>

namespace plateau {

// Versions 1 and 2, of builds before the first release, compressed the columns with zstd.
inline constexpr uint8_t kColumnsZstdExtensions = 3;
inline constexpr uint8_t kColumnsGlibc = 5;  // glibc's malloc is imitated
inline constexpr uint8_t kColumnsVersion = 5;

// How large the tables are that learn from so many bytes of records.
inline int TableBits(uint32_t raw_bytes) {
  return std::clamp(static_cast<int>(std::bit_width(raw_bytes)) - 4, 8, 16);
}

inline int TextTableBits(uint32_t raw_bytes) {
  return std::clamp(static_cast<int>(std::bit_width(raw_bytes)) - 2, 8, 16);
}

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_COLUMN_LAYOUT_H_

// The hashes of symbol names in ELF files, as the loader's tables use them.
//
// Allocates: never. Locks: never. Throws: never.
#ifndef PLATEAU_PRELOAD_BASE_ELF_HASH_H_
#define PLATEAU_PRELOAD_BASE_ELF_HASH_H_

#include <cstdint>

namespace plateau {

// DT_GNU_HASH.
inline uint32_t GnuHash(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<uint8_t>(*name);
  return hash;
}

// DT_HASH.
inline uint32_t SysvHash(const char* name) {
  uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<uint8_t>(*name);
    const uint32_t high = hash & 0xf0000000;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_ELF_HASH_H_

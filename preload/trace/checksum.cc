#include "preload/trace/checksum.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace plateau::trace {
namespace {

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0x82f63b78u : 0);
    table[i] = value;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = MakeTable();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t Crc32cHardware(uint32_t crc, const void* data, size_t size) {
  const unsigned char* p = static_cast<const unsigned char*>(data);
  uint64_t value = ~crc;
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    value = _mm_crc32_u64(value, word);
  }
  uint32_t low = static_cast<uint32_t>(value);
  for (; size > 0; --size, ++p) low = _mm_crc32_u8(low, *p);
  return ~low;
}
#elif defined(__aarch64__)
// By name and not by <arm_acle.h>, which offers them only to files that are compiled for such processors.
__attribute__((target("+crc"))) uint32_t Crc32cHardware(uint32_t crc, const void* data, size_t size) {
  const unsigned char* p = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    crc = __builtin_aarch64_crc32cx(crc, word);
  }
  for (; size > 0; --size, ++p) crc = __builtin_aarch64_crc32cb(crc, *p);
  return ~crc;
}
#endif

}  // namespace

uint32_t Crc32cPortable(uint32_t crc, const void* data, size_t size) {
  const unsigned char* p = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (; size > 0; --size, ++p) crc = (crc >> 8) ^ kTable[(crc ^ *p) & 0xff];
  return ~crc;
}

uint32_t Crc32c(uint32_t crc, const void* data, size_t size) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2")) return Crc32cHardware(crc, data, size);
#elif defined(__aarch64__)
  constexpr unsigned long kHasCrc32 = 1ul << 7;  // HWCAP_CRC32
  if ((getauxval(AT_HWCAP) & kHasCrc32) != 0) return Crc32cHardware(crc, data, size);
#endif
  return Crc32cPortable(crc, data, size);
}

}  // namespace plateau::trace

// LEB128 integers, and zig-zag for signed ones.
//
// Writers need kMaxVarintBytes of room at `out` and return the new end. Readers never read at or past `end`;
// on a truncated or over-long number they return nullptr and leave `value` unspecified. Allocates: never.
// Locks: never.
#ifndef PLATEAU_PRELOAD_TRACE_VARINT_H_
#define PLATEAU_PRELOAD_TRACE_VARINT_H_

#include <cstddef>
#include <cstdint>

namespace plateau::trace {

inline constexpr size_t kMaxVarintBytes = 10;

inline uint8_t* PutVarint(uint8_t* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value) | 0x80;
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// The same for numbers of usually one or two bytes, hard to predict which: no branch between the two. Writes
// two bytes at least; the returned end says how many count.
[[gnu::always_inline]] inline uint8_t* PutSmallVarint(uint8_t* out, uint64_t value) {
  if (value >> 14 != 0) [[unlikely]]
    return PutVarint(out, value);
  const auto bits = static_cast<uint32_t>(value);
  const uint32_t is_long = bits >= 0x80;
  const auto word = static_cast<uint16_t>(bits + (bits & ~0x7fu) + (is_long << 7));
  __builtin_memcpy(out, &word, sizeof(word));  // little endian, as the format is
  return out + 1 + is_long;
}

inline const uint8_t* GetVarint(const uint8_t* p, const uint8_t* end, uint64_t* value) {
  if (p < end && *p < 0x80) [[likely]] {
    *value = *p;
    return p + 1;
  }
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
    const uint64_t byte = *p++;
    result |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (shift == 63 && byte > 1) return nullptr;  // more than 64 bits
      *value = result;
      return p;
    }
  }
  return nullptr;
}

// Two ways to work on the bytes of a word at once. The second takes one instruction for each, of processors
// with BMI2: ask HasPext() once before.
struct JoinByShifts {
  // The lower seven bits of each byte, one after the other.
  [[gnu::always_inline]] static uint64_t SevenBits(uint64_t word) {
    word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
    word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
    return (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
  }
  // The same of the bits in a mask alone, which has such bits of bytes that lie together.
  [[gnu::always_inline]] static uint64_t SevenBitsOf(uint64_t word, uint64_t mask) {
    return mask == 0 ? 0 : SevenBits((word & mask) >> (static_cast<unsigned>(__builtin_ctzll(mask)) & 56));
  }
  // The first, second, third or fourth set bit of `bits` for a `which` of 1, 2, 4, 8; 0 when there are fewer,
  // and for 0.
  [[gnu::always_inline]] static uint64_t BitAt(uint32_t which, uint64_t bits) {
    if (which == 0) return 0;
    for (; which > 1; which >>= 1) bits &= bits - 1;
    return bits & -bits;
  }
};
#if defined(__x86_64__)
struct JoinByPext {
  [[gnu::always_inline]] static uint64_t SevenBits(uint64_t word) {
    asm("pext %1, %0, %0" : "+r"(word) : "r"(0x7f7f7f7f7f7f7f7fu));
    return word;
  }
  [[gnu::always_inline]] static uint64_t SevenBitsOf(uint64_t word, uint64_t mask) {
    asm("pext %1, %0, %0" : "+r"(word) : "r"(mask));
    return word;
  }
  [[gnu::always_inline]] static uint64_t BitAt(uint32_t which, uint64_t bits) {
    uint64_t bit;
    asm("pdep %2, %1, %0" : "=r"(bit) : "r"(uint64_t{which}), "r"(bits));
    return bit;
  }
};
inline bool HasPext() { return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"); }
// Of a function that is called only when HasPext(): the compiler may use the instructions of its family.
#define PLATEAU_FOR_BMI2 [[gnu::target("bmi,bmi2")]]
#else
#define PLATEAU_FOR_BMI2
using JoinByPext = JoinByShifts;
inline bool HasPext() { return false; }
#endif

// Reads a number of at most 8 bytes without a branch on its length, for when at least 8 bytes can be read at
// `p`. nullptr when it is longer: ask GetVarint() then.
[[gnu::always_inline]] inline const uint8_t* GetShortVarint(const uint8_t* p, uint64_t* value) {
  uint64_t word;
  __builtin_memcpy(&word, p, sizeof(word));
  const uint64_t ends = ~word & 0x8080808080808080u;
  if (ends == 0) [[unlikely]]
    return nullptr;
  *value = JoinByShifts::SevenBits(word & (ends ^ (ends - 1)));  // the bytes of this number
  return p + (__builtin_ctzll(ends) + 1) / 8;
}

constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_VARINT_H_

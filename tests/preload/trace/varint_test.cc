#include "preload/trace/varint.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace plateau::trace {
namespace {

TEST(VarintTest, EveryBitWidthComesBack) {
  for (int bits = 0; bits <= 64; ++bits) {
    const uint64_t top = bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
    for (const uint64_t value : {top, top / 2, top - (top > 0)}) {
      uint8_t buffer[kMaxVarintBytes];
      const uint8_t* end = PutVarint(buffer, value);
      uint64_t back = 0;
      EXPECT_EQ(GetVarint(buffer, end, &back), end);
      EXPECT_EQ(back, value);
    }
  }
}

TEST(VarintTest, BranchFreeWriterWritesTheSameBytes) {
  for (int bits = 0; bits <= 64; ++bits) {
    const uint64_t top = bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
    for (const uint64_t value : {top, top + 1, top / 3, top / 5 * 4, top - (top > 0)}) {
      uint8_t expected[kMaxVarintBytes], small[kMaxVarintBytes];
      const size_t length = static_cast<size_t>(PutVarint(expected, value) - expected);
      ASSERT_EQ(PutSmallVarint(small, value) - small, static_cast<ptrdiff_t>(length)) << value;
      EXPECT_EQ(std::memcmp(small, expected, length), 0) << value;
    }
  }
}

TEST(VarintTest, CutNumberIsRefusedAtEveryLength) {
  uint8_t buffer[kMaxVarintBytes];
  const uint8_t* end = PutVarint(buffer, UINT64_MAX);
  ASSERT_EQ(end - buffer, 10);
  for (const uint8_t* cut = buffer; cut < end; ++cut) {
    uint64_t value;
    EXPECT_EQ(GetVarint(buffer, cut, &value), nullptr);
  }
}

TEST(VarintTest, MoreThan64BitsAreRefused) {
  std::vector<uint8_t> bytes(9, 0xff);
  bytes.push_back(0x02);  // bit 65
  uint64_t value;
  EXPECT_EQ(GetVarint(bytes.data(), bytes.data() + bytes.size(), &value), nullptr);
  bytes.assign(11, 0x80);
  EXPECT_EQ(GetVarint(bytes.data(), bytes.data() + bytes.size(), &value), nullptr);
}

TEST(VarintTest, PaddedNumberIsRead) {
  const uint8_t padded[] = {0x85, 0x80, 0x00};
  uint64_t value = 0;
  EXPECT_EQ(GetVarint(padded, padded + 3, &value), padded + 3);
  EXPECT_EQ(value, 5u);
}

TEST(ZigZagTest, SmallMagnitudesStaySmallAndExtremesComeBack) {
  EXPECT_EQ(ZigZag(0), 0u);
  EXPECT_EQ(ZigZag(-1), 1u);
  EXPECT_EQ(ZigZag(1), 2u);
  for (const int64_t value : {INT64_MIN, INT64_MIN + 1, int64_t{-12345}, int64_t{0}, INT64_MAX}) {
    EXPECT_EQ(UnZigZag(ZigZag(value)), value);
  }
}

}  // namespace
}  // namespace plateau::trace

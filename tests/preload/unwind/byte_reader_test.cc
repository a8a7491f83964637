#include "preload/unwind/byte_reader.h"

#include "gtest/gtest.h"

namespace plateau::unwind {
namespace {

TEST(ByteReaderTest, NumbersOfTheDwarfStandard) {
  // The examples of DWARF 5, figures 7.22 and 7.23.
  const uint8_t bytes[] = {0x7f, 0x80, 0x01, 0xb9, 0x64, 0x02, 0x7e, 0xff, 0x00, 0x81, 0x7f};
  ByteReader reader(bytes, bytes + sizeof(bytes));
  EXPECT_EQ(reader.ReadUleb(), 127u);
  EXPECT_EQ(reader.ReadUleb(), 128u);
  EXPECT_EQ(reader.ReadUleb(), 12857u);
  EXPECT_EQ(reader.ReadSleb(), 2);
  EXPECT_EQ(reader.ReadSleb(), -2);
  EXPECT_EQ(reader.ReadSleb(), 127);
  EXPECT_EQ(reader.ReadSleb(), -127);
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_TRUE(reader.ok());
}

TEST(ByteReaderTest, AfterAReadPastTheEndEverythingIsZero) {
  const uint8_t bytes[] = {1, 2, 3};
  ByteReader reader(bytes, bytes + sizeof(bytes));
  EXPECT_EQ(reader.Read<uint32_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Read<uint8_t>(), 0u);
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(ByteReaderTest, ANumberWithoutAnEndFails) {
  uint8_t bytes[16];
  for (uint8_t& byte : bytes) byte = 0x80;
  ByteReader reader(bytes, bytes + sizeof(bytes));
  EXPECT_EQ(reader.ReadUleb(), 0u);
  EXPECT_FALSE(reader.ok());
}

TEST(ByteReaderTest, APartEndsWhereItShould) {
  const uint8_t bytes[] = {1, 2, 3, 4};
  ByteReader reader(bytes, bytes + sizeof(bytes));
  ByteReader part = reader.Take(3);
  EXPECT_EQ(part.remaining(), 3u);
  EXPECT_EQ(reader.Read<uint8_t>(), 4u);
  EXPECT_FALSE(reader.Take(1).ok());
}

}  // namespace
}  // namespace plateau::unwind

#include "preload/trace/checksum.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace plateau::trace {
namespace {

TEST(Crc32cTest, KnownValues) {
  // RFC 3720, appendix B.4.
  EXPECT_EQ(Crc32c(0, std::string(32, '\0').data(), 32), 0x8a9136aau);
  EXPECT_EQ(Crc32c(0, std::string(32, '\xff').data(), 32), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(0, "123456789", 9), 0xe3069283u);
}

TEST(Crc32cTest, HardwareAndTableAgreeOnEveryLengthAndAlignment) {
  std::vector<unsigned char> bytes(300);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 37 + 11);
  for (size_t start = 0; start < 8; ++start) {
    for (size_t size = 0; start + size <= bytes.size(); ++size) {
      ASSERT_EQ(Crc32c(7, bytes.data() + start, size), Crc32cPortable(7, bytes.data() + start, size));
    }
  }
}

TEST(Crc32cTest, PiecesGiveTheValueOfTheWhole) {
  const std::string text = "the curve goes flat at 17 GB near step 90";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(Crc32c(Crc32c(0, text.data(), cut), text.data() + cut, text.size() - cut),
              Crc32c(0, text.data(), text.size()));
  }
}

}  // namespace
}  // namespace plateau::trace

#include "preload/python/fingerprint.h"

#include <array>
#include <cstring>
#include <string_view>

#include "gtest/gtest.h"

namespace plateau::python {
namespace {

constexpr Layout MakeLayout(uint16_t version) {
  Layout layout = {};
  layout.code_file = 8;
  layout.code_name = 16;
  layout.code_line_table = 24;
  layout.code_first_line = 32;
  layout.code_version = version;
  layout.text_ascii = 48;
  return layout;
}
constexpr Layout kWithoutVersions = MakeLayout(kNoField);
constexpr Layout kWithVersions = MakeLayout(36);

// A code object whose parts stay where they are, as memory that is used again.
struct FakeCode {
  alignas(8) std::array<char, 64> code{};
  alignas(8) std::array<char, 160> file{};
  alignas(8) std::array<char, 64> name{};
  alignas(8) std::array<char, 64> table{};

  FakeCode() {
    Put(code, 8, file.data());
    Put(code, 16, name.data());
    Put(code, 24, table.data());
    Put(table, kObjectSize, uint64_t{6});
  }
  void SetFile(std::string_view text) {
    Put(file, kObjectSize, uint64_t{text.size()});
    Put(file, kTextState, uint32_t{1u << 2 | 1u << 5 | 1u << 6});
    memcpy(file.data() + 48, text.data(), text.size());
  }
  template <typename Bytes, typename Value>
  static void Put(Bytes& bytes, size_t offset, Value value) {
    memcpy(bytes.data() + offset, &value, sizeof(value));
  }
};

TEST(FingerprintTest, AnotherShortFileNameAtTheSamePlaceIsOtherCode) {
  FakeCode code;
  code.SetFile("<eval_with_key>.3");
  const CodeFingerprint print = FingerprintOf(kWithoutVersions, code.code.data());
  EXPECT_TRUE(HasFingerprint(kWithoutVersions, code.code.data(), print));
  code.SetFile("<eval_with_key>.5");
  EXPECT_FALSE(HasFingerprint(kWithoutVersions, code.code.data(), print));
  code.SetFile("<eval_with_key>.13");
  EXPECT_FALSE(HasFingerprint(kWithoutVersions, code.code.data(), print));
  code.SetFile("<eval_with_key>.3");
  EXPECT_TRUE(HasFingerprint(kWithoutVersions, code.code.data(), print));
}

TEST(FingerprintTest, AVersionSettlesItWithoutALookAtTheName) {
  FakeCode code;
  code.SetFile("<eval_with_key>.3");
  FakeCode::Put(code.code, 36, uint32_t{7});
  const CodeFingerprint print = FingerprintOf(kWithVersions, code.code.data());
  EXPECT_TRUE(HasFingerprint(kWithVersions, code.code.data(), print));
  FakeCode::Put(code.code, 36, uint32_t{8});
  EXPECT_FALSE(HasFingerprint(kWithVersions, code.code.data(), print));
}

TEST(FingerprintTest, ALongOrForeignNameIsReadNoFartherThanItsLength) {
  FakeCode code;
  code.SetFile("/home/user/a/long/way/down/to/a/file/that/lives/as/long/as/the/program.py");
  const CodeFingerprint print = FingerprintOf(kWithoutVersions, code.code.data());
  EXPECT_EQ(print.texts, 73u);
  FakeCode::Put(code.file, kObjectSize, uint64_t{20});
  FakeCode::Put(code.file, kTextState, uint32_t{1u << 2 | 1u << 5});  // not ASCII
  EXPECT_EQ(FingerprintOf(kWithoutVersions, code.code.data()).texts, 20u);
}

}  // namespace
}  // namespace plateau::python

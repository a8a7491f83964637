#include "preload/python/text.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace plateau::python {
namespace {

constexpr Layout MakeLayout() {
  Layout layout = {};
  layout.text_ascii = 40;
  layout.text_compact = 56;
  return layout;
}
constexpr Layout kLayout = MakeLayout();

// A str object as 3.12 lays it out.
class FakeText {
 public:
  template <typename Character>
  FakeText(const Character* characters, uint64_t length, bool is_ascii) {
    const uint32_t state = sizeof(Character) << 2 | 1u << 5 | (is_ascii ? 1u << 6 : 0);
    memcpy(object_ + 16, &length, 8);
    memcpy(object_ + 32, &state, 4);
    memcpy(object_ + (is_ascii ? 40 : 56), characters, length * sizeof(Character));
  }
  std::string Read(size_t capacity = 100) const {
    char buffer[100];
    return std::string(TextOf(kLayout, object_, buffer, capacity));
  }

 private:
  alignas(8) char object_[200] = {};
};

TEST(PythonTextTest, AsciiIsNotCopied) { EXPECT_EQ(FakeText("train.py", 8, true).Read(), "train.py"); }

TEST(PythonTextTest, LatinTextBecomesTwoBytes) {
  EXPECT_EQ(FakeText("\xe9.py", 4, false).Read(), "\xc3\xa9.py");
}

TEST(PythonTextTest, WideAndWiderText) {
  const uint16_t wide[] = {0x444, 0x540d};
  EXPECT_EQ(FakeText(wide, 2, false).Read(), "\xd1\x84\xe5\x90\x8d");
  const uint32_t emoji[] = {0x1f4a9, 'x'};
  EXPECT_EQ(FakeText(emoji, 2, false).Read(), "\xf0\x9f\x92\xa9x");
}

TEST(PythonTextTest, LoneSurrogateSurvives) {
  const uint16_t escaped[] = {'a', 0xdcff};
  EXPECT_EQ(FakeText(escaped, 2, false).Read(), "a\xed\xb3\xbf");
}

TEST(PythonTextTest, CutsBetweenCharacters) {
  const uint32_t emoji[] = {0x1f4a9, 0x1f4a9, 0x1f4a9};
  EXPECT_EQ(FakeText(emoji, 3, false).Read(11), "\xf0\x9f\x92\xa9\xf0\x9f\x92\xa9");
  EXPECT_EQ(FakeText("train.py", 8, true).Read(5), "train");
}

TEST(PythonTextTest, NothingGivesNothing) {
  char buffer[8];
  EXPECT_EQ(TextOf(kLayout, nullptr, buffer, sizeof(buffer)), "");
  EXPECT_EQ(FakeText("", 0, true).Read(), "");
}

}  // namespace
}  // namespace plateau::python

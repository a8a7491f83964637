#include "preload/python/layout.h"

#include <cstddef>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace plateau::python {
namespace {

struct Member {
  const char* name;
  int type;
  ptrdiff_t offset;
  int flags;
  const char* doc;
};

// An interpreter's static data as version 3.12 has it; the tests change one thing each.
class FakeInterpreter {
 public:
  FakeInterpreter() {
    Put(24, "code");
    Put(32, uint64_t{192});
    Put(240, members_);
  }
  template <typename T>
  void Put(size_t offset, T value) {
    memcpy(type_ + offset, &value, sizeof(value));
  }
  InterpreterSymbols symbols() const { return {type_, runtime_, &version_, nullptr}; }

  unsigned long version_ = 0x030c01f0;
  Member members_[6] = {{"co_filename", 0, 112, 0, nullptr},
                        {"co_qualname", 0, 128, 0, nullptr},
                        {"co_firstlineno", 0, 68, 0, nullptr},
                        {"co_linetable", 0, 136, 0, nullptr},
                        {nullptr, 0, 0, 0, nullptr}};
  alignas(8) char type_[400] = {};
  uint64_t runtime_[64] = {};
};

// The same for 3.13, which describes itself twice.
class FakeInterpreter13 : public FakeInterpreter {
 public:
  FakeInterpreter13() {
    version_ = 0x030d00f0;
    Put(32, uint64_t{200});
    memcpy(runtime_, "xdebugpy", 8);
    runtime_[1] = version_;
    runtime_[4] = 608;
    runtime_[19 + 4] = 72;
    const uint64_t frame[] = {88, 8, 0, 56, 80, 70};
    memcpy(runtime_ + 28, frame, sizeof(frame));
    const uint64_t code[] = {208, 112, 120, 128, 136, 68, 52, 96, 104, 200};
    memcpy(runtime_ + 34, code, sizeof(code));
  }
};

TEST(PythonLayoutTest, KnownVersionThatAgreesWithItselfIsTaken) {
  const FakeInterpreter fake;
  Layout layout;
  EXPECT_STREQ(FindLayout(fake.symbols(), &layout), nullptr);
  EXPECT_EQ(layout.minor, 12);
  EXPECT_EQ(layout.code_bytecode, 192);
}

TEST(PythonLayoutTest, DebugOffsetsGiveTheFinalizingWord) {
  const FakeInterpreter13 fake;
  Layout layout;
  ASSERT_STREQ(FindLayout(fake.symbols(), &layout), nullptr);
  EXPECT_EQ(layout.runtime_finalizing, 608);
}

// 3.15 has the fields of 3.14 and describes them further behind.
TEST(PythonLayoutTest, WordsOf315AreReadWhereItHasThem) {
  FakeInterpreter13 fake;
  fake.version_ = fake.runtime_[1] = 0x030f02f0;
  fake.Put(32, uint64_t{208});
  memset(fake.runtime_ + 19, 0, sizeof(fake.runtime_) - 19 * sizeof(uint64_t));
  fake.runtime_[4] = 912;
  fake.runtime_[22 + 4] = 72;
  const uint64_t frame[] = {88, 8, 0, 56, 80, 74};
  memcpy(fake.runtime_ + 39, frame, sizeof(frame));
  const uint64_t code[] = {216, 112, 120, 128, 136, 68, 52, 96, 104, 208};
  memcpy(fake.runtime_ + 47, code, sizeof(code));
  Layout layout;
  ASSERT_STREQ(FindLayout(fake.symbols(), &layout), nullptr);
  EXPECT_EQ(layout.minor, 15);
  EXPECT_EQ(layout.runtime_finalizing, 912);
  // The same words are no description of 3.14.
  fake.version_ = fake.runtime_[1] = 0x030e02f0;
  EXPECT_STREQ(FindLayout(fake.symbols(), &layout),
               "the debug offsets differ from the layout of this version");
}

TEST(PythonLayoutTest, UnknownMinorIsRefused) {
  FakeInterpreter fake;
  for (unsigned long version : {0x030700f0ul, 0x031000f0ul, 0x040000f0ul, 0x02070ff0ul}) {
    fake.version_ = version;
    Layout layout;
    EXPECT_STREQ(FindLayout(fake.symbols(), &layout), "this version's frame layout is not known");
  }
}

TEST(PythonLayoutTest, MovedCodeFieldIsRefused) {
  for (int i = 0; i < 4; ++i) {
    FakeInterpreter fake;
    fake.members_[i].offset += 16;
    Layout layout;
    EXPECT_STREQ(FindLayout(fake.symbols(), &layout), "code objects differ from the layout of this version")
        << i;
  }
}

TEST(PythonLayoutTest, LargerCodeHeaderIsRefused) {
  FakeInterpreter fake;
  fake.Put(32, uint64_t{200});
  Layout layout;
  EXPECT_NE(FindLayout(fake.symbols(), &layout), nullptr);
}

TEST(PythonLayoutTest, ShiftedTypeObjectIsRefused) {  // Py_TRACE_REFS puts 16 bytes in front of every object
  FakeInterpreter fake;
  fake.Put(24, "typeobj");
  Layout layout;
  EXPECT_NE(FindLayout(fake.symbols(), &layout), nullptr);
}

TEST(PythonLayoutTest, FreeThreadedBuildIsRefusedByName) {
  FakeInterpreter13 fake;
  fake.runtime_[2] = 1;
  Layout layout;
  EXPECT_STREQ(FindLayout(fake.symbols(), &layout), "free-threaded build");
}

TEST(PythonLayoutTest, EveryDebugOffsetThatDiffersIsRefused) {
  for (int word : {19 + 4, 28 + 1, 28 + 2, 28 + 3, 28 + 5, 34 + 1, 34 + 3, 34 + 4, 34 + 5, 34 + 9}) {
    FakeInterpreter13 fake;
    fake.runtime_[word] += 8;
    Layout layout;
    EXPECT_STREQ(FindLayout(fake.symbols(), &layout),
                 "the debug offsets differ from the layout of this version")
        << word;
  }
}

TEST(PythonLayoutTest, MissingSymbolsAreRefused) {
  const FakeInterpreter fake;
  InterpreterSymbols symbols = fake.symbols();
  Layout layout;
  symbols.runtime = nullptr;
  EXPECT_NE(FindLayout(symbols, &layout), nullptr);
  symbols = fake.symbols();
  symbols.code_type = nullptr;
  EXPECT_NE(FindLayout(symbols, &layout), nullptr);
}

TEST(PythonLayoutTest, VersionIsReadFromTextBefore311) {
  InterpreterSymbols symbols = {};
  symbols.get_version = [] { return "3.8.18 (default, Jan  1 2024)"; };
  EXPECT_EQ(PythonVersion(symbols), 0x0308);
  symbols.get_version = [] { return "3.10.0rc1"; };
  EXPECT_EQ(PythonVersion(symbols), 0x030a);
  symbols.get_version = [] { return "PyPy"; };
  EXPECT_EQ(PythonVersion(symbols), 0);
}

}  // namespace
}  // namespace plateau::python

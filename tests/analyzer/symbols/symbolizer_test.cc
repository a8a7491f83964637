#include "analyzer/symbols/symbolizer.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace plateau::symbols {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// The address of its own call, as a stack walk would see it.
__attribute__((noinline)) void* ReturnAddress() {
  asm volatile("");
  return __builtin_return_address(0);
}

constexpr int kInlinedLine = __LINE__ + 2;
__attribute__((always_inline)) inline void* InlinedCaller() {
  void* address = ReturnAddress();
  asm volatile("" : "+r"(address));
  return address;
}

constexpr int kOuterLine = __LINE__ + 2;
__attribute__((noinline)) void* OuterFunction() {
  void* address = InlinedCaller();
  asm volatile("" : "+r"(address));
  return address;
}

uint64_t OffsetOf(const void* address) {
  Dl_info info;
  link_map* map = nullptr;
  dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP);
  return reinterpret_cast<uint64_t>(address) - map->l_addr;
}

std::string ThisProgram() {
  char path[4096] = {};
  return readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 ? path : "";
}

TEST(SymbolizerTest, TheCLibraryHasNamesWithoutLinesOrVersions) {
  Symbolizer symbolizer;
  Dl_info info;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&std::getenv), &info), 0);
  const auto& frames =
      symbolizer.Resolve(info.dli_fname, "", OffsetOf(reinterpret_cast<void*>(&std::getenv)) + 4);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "getenv");
  EXPECT_EQ(frames[0].file, "");
}

TEST(SymbolizerTest, InlinedFramesHaveTheirOwnLines) {
  Symbolizer symbolizer;
  const auto& frames = symbolizer.Resolve(ThisProgram(), "", OffsetOf(OuterFunction()));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_THAT(frames[0].function, HasSubstr("InlinedCaller"));
  EXPECT_THAT(frames[0].file, EndsWith("symbolizer_test.cc"));
  EXPECT_EQ(frames[0].line, kInlinedLine);
  EXPECT_THAT(frames[1].function, HasSubstr("OuterFunction"));
  EXPECT_EQ(frames[1].line, kOuterLine);
  EXPECT_TRUE(symbolizer.problems().empty());
}

TEST(SymbolizerTest, LibraryWithoutDebugInformationGivesItsSymbols) {
  Symbolizer symbolizer;
  Dl_info info;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&qsort), &info), 0);
  const uint64_t address = OffsetOf(reinterpret_cast<void*>(&qsort));
  const auto& frames = symbolizer.Resolve(info.dli_fname, "", address + 4);
  ASSERT_FALSE(frames.empty());
  EXPECT_THAT(frames.back().function, HasSubstr("qsort"));
  EXPECT_THAT(symbolizer.SymbolAt(info.dli_fname, "", address + 4), HasSubstr("qsort"));
}

TEST(SymbolizerTest, OtherBuildIdIsRefusedAndSaidOnce) {
  Symbolizer symbolizer;
  const uint64_t address = OffsetOf(OuterFunction());
  EXPECT_TRUE(symbolizer.Resolve(ThisProgram(), "not its id", address).empty());
  EXPECT_TRUE(symbolizer.Resolve(ThisProgram(), "not its id", address + 1).empty());
  ASSERT_EQ(symbolizer.problems().size(), 1u);
  EXPECT_THAT(symbolizer.problems()[0], HasSubstr("changed since the recording"));
}

TEST(SymbolizerTest, ReadingAheadChangesNoAnswer) {
  Symbolizer symbolizer;
  symbolizer.ReadAhead(ThisProgram(), "");
  symbolizer.ReadAhead(ThisProgram(), "not its id");
  symbolizer.ReadAhead("/nonexistent/lib.so", "");
  symbolizer.ReadAhead("[vdso]", "");
  EXPECT_TRUE(symbolizer.problems().empty());  // nobody has asked for them
  const auto& frames = symbolizer.Resolve(ThisProgram(), "", OffsetOf(OuterFunction()));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1].line, kOuterLine);
  EXPECT_THAT(symbolizer.SymbolAt(ThisProgram(), "", OffsetOf(OuterFunction())), HasSubstr("OuterFunction"));
  EXPECT_TRUE(symbolizer.problems().empty());
  EXPECT_TRUE(symbolizer.Resolve(ThisProgram(), "not its id", 16).empty());
  EXPECT_TRUE(symbolizer.Resolve("/nonexistent/lib.so", "", 16).empty());
  EXPECT_EQ(symbolizer.problems().size(), 2u);
}

TEST(SymbolizerTest, WhatIsAskedForWhileItIsReadIsWaitedFor) {
  for (int round = 0; round < 20; ++round) {
    Symbolizer symbolizer;
    std::thread reading([&symbolizer] {
      for (const char* path : {"/bin/sh", "/nonexistent/lib.so"}) symbolizer.ReadAhead(path, "");
      symbolizer.ReadAhead(ThisProgram(), "");
    });
    const auto& frames = symbolizer.Resolve(ThisProgram(), "", OffsetOf(OuterFunction()));
    EXPECT_EQ(frames.size(), 2u);
    EXPECT_TRUE(symbolizer.Resolve("/nonexistent/lib.so", "", 16).empty());
    symbolizer.SymbolAt("/bin/sh", "", 4096);
    reading.join();
    EXPECT_EQ(symbolizer.problems().size(), 1u);
    EXPECT_EQ(symbolizer.Resolve(ThisProgram(), "", OffsetOf(OuterFunction())).size(), 2u);
  }
}

TEST(SymbolizerTest, MissingAndForeignFilesGiveNothing) {
  Symbolizer symbolizer;
  EXPECT_TRUE(symbolizer.Resolve("/nonexistent/lib.so", "", 16).empty());
  EXPECT_TRUE(symbolizer.Resolve("/etc/passwd", "", 16).empty());
  EXPECT_TRUE(symbolizer.Resolve("[vdso]", "", 16).empty());
  EXPECT_EQ(symbolizer.problems().size(), 2u);
}

TEST(SymbolizerTest, AddressOutsideTheFileGivesNothing) {
  Symbolizer symbolizer;
  EXPECT_TRUE(symbolizer.Resolve(ThisProgram(), "", uint64_t{1} << 60).empty());
  EXPECT_TRUE(symbolizer.Resolve(ThisProgram(), "", 0).empty());
}

}  // namespace
}  // namespace plateau::symbols

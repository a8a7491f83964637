#include "analyzer/symbols/demangle.h"

#include <gtest/gtest.h>

namespace plateau::symbols {
namespace {

TEST(DemangleTest, NamesOfCppAndRust) {
  EXPECT_EQ(Demangle("_ZN3foo3barEi"), "foo::bar(int)");
  EXPECT_EQ(Demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
}

TEST(DemangleTest, OtherNamesStayAsTheyAre) {
  for (const char* name : {"main", "", "_Z", "_ZN3fo", "PyObject_Malloc", "\xff\xfe"})
    EXPECT_EQ(Demangle(name), name);
}

TEST(DemangleTest, EndlessNamesAreNotTouched) {
  const std::string name = "_Z" + std::string(100000, 'P') + "i";
  EXPECT_EQ(Demangle(name), name);
}

TEST(DemangleTest, StandardLibraryIsPlumbing) {
  EXPECT_TRUE(IsLibraryPlumbing(
      "_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJiEEEvN9__gnu_cxx17__normal_iteratorIPiS1_EEDpOT_"));
  EXPECT_TRUE(IsLibraryPlumbing("_Znwm"));
  EXPECT_FALSE(IsLibraryPlumbing("_ZN5Model7forwardEv"));
  EXPECT_FALSE(IsLibraryPlumbing("main"));
}

}  // namespace
}  // namespace plateau::symbols

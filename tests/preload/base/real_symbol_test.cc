#include "preload/base/real_symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <stdlib.h>

// The hook: answers with what the caller's own library says, plus 100 to show that it was here.
extern "C" __attribute__((visibility("default"), noinline)) int plateau_test_answer() {
  void* real = plateau::FindRealSymbol("plateau_test_answer", __builtin_return_address(0));
  return real == nullptr ? -1 : 100 + reinterpret_cast<int (*)()>(real)();
}

namespace plateau {
namespace {

int Ask(const char* library) {
  const std::string path = std::string(LIBRARY_DIR "/") + library;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  auto* ask = reinterpret_cast<int (*)()>(dlsym(handle, "plateau_test_ask"));
  return ask();
}

TEST(RealSymbolTest, EachCallerGetsItsOwnLibraryThoughBothAreLocal) {
  EXPECT_EQ(Ask("libanswer_caller_2.so"), 1102);
  EXPECT_EQ(Ask("libanswer_caller_1.so"), 1101);
  EXPECT_EQ(Ask("libanswer_caller_2.so"), 1102);
}

TEST(RealSymbolTest, ACallerWithoutTheLibraryGetsOneThatIsLoaded) {
  ASSERT_NE(dlopen(LIBRARY_DIR "/libanswer_1.so", RTLD_NOW | RTLD_LOCAL), nullptr);
  EXPECT_GT(plateau_test_answer(), 100);
}

TEST(RealSymbolTest, OurOwnDefinitionIsNeverTheAnswer) {
  EXPECT_EQ(FindRealSymbol("main", nullptr), nullptr);
}

TEST(RealSymbolTest, AgreesWithTheLoaderOnVersionedSymbols) {
  void* libc = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY);
  ASSERT_NE(libc, nullptr);
  for (const char* name : {"getenv", "pthread_create", "dlsym", "posix_spawn", "realpath", "fopen"}) {
    EXPECT_EQ(FindInLibrary("libc.so", name), dlsym(libc, name)) << name;
  }
}

TEST(RealSymbolTest, MissingNamesAndLibrariesGiveNull) {
  EXPECT_EQ(FindInLibrary("libc.so", "plateau_no_such_function"), nullptr);
  EXPECT_EQ(FindInLibrary("libplateau-no-such.so", "malloc"), nullptr);
  errno = 77;
  EXPECT_EQ(FindRealSymbol("plateau_no_such_function", __builtin_return_address(0)), nullptr);
  EXPECT_EQ(errno, 77);
}

TEST(RealSymbolTest, KeepsHitsAndMisses) {
  RealSymbol hit("getenv");
  auto* get = hit.Get<char*(const char*)>(nullptr);
  EXPECT_EQ(get, hit.Get<char*(const char*)>(nullptr));
  EXPECT_EQ(reinterpret_cast<void*>(get), FindInLibrary("libc.so", "getenv"));
  RealSymbol miss("plateau_no_such_function");
  EXPECT_EQ(miss.Get<void()>(nullptr), nullptr);
  EXPECT_EQ(miss.Get<void()>(nullptr), nullptr);
}

}  // namespace
}  // namespace plateau

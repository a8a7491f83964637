#include "preload/torch/returned.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>

namespace plateau {
namespace {

// One function type for another, which compilers advise against.
template <typename To, typename From>
To As(From* function) {
  return reinterpret_cast<To>(reinterpret_cast<void*>(function));
}

// The real function, as its library compiled it.
[[gnu::noinline]] std::string RealFunction(const void* self, const char* text) {
  return self != nullptr ? std::string(text) + " and more than fits into a small string" : "";
}

// A hook of it.
using ReturnedFunction = Returned(const void*, const char*);
constinit ReturnedFunction* g_real = nullptr;
[[gnu::noinline]] Returned Hook(const void* self, const char* text) {
  Returned returned = g_real != nullptr ? g_real(self, text) : Returned();
  asm volatile("" : : : "memory");
  return returned;
}

TEST(ReturnedTest, ResultOfAClassReachesTheCallerThroughAHook) {
  g_real = As<ReturnedFunction*>(&RealFunction);
  const auto hooked = As<std::string (*)(const void*, const char*)>(&Hook);
  const int self = 0;
  EXPECT_EQ(hooked(&self, "this"), "this and more than fits into a small string");
}

TEST(ReturnedTest, HookWithoutARealFunctionLeavesThePlaceAlone) {
  g_real = nullptr;
  alignas(std::string) char place[sizeof(std::string)];
  for (char& byte : place) byte = 'x';
  new (place) Returned(Hook(nullptr, nullptr));
  for (char byte : place) EXPECT_EQ(byte, 'x');
}

[[gnu::noinline]] ReturnedNull Null(const void*) { return {}; }

TEST(ReturnedTest, NullArrivesAsAnEmptyPointer) {
  const auto start = As<std::unique_ptr<std::string> (*)(const void*)>(&Null);
  EXPECT_EQ(start(nullptr), nullptr);
}

}  // namespace
}  // namespace plateau

#include "preload/recorder/parts.h"

#include <string>

#include "gtest/gtest.h"

namespace plateau {
namespace {

std::string* g_calls = nullptr;

constinit const Part kFirst = {.start = [] { *g_calls += "first starts;"; },
                               .on_tick = [] { *g_calls += "first ticks;"; }};
constinit const Part kSecond = {.start = [] { *g_calls += "second starts;"; }};

}  // namespace

constinit const Part* const kParts[] = {&kFirst, &kSecond};
constinit const size_t kPartCount = 2;

namespace {

TEST(PartsTest, EveryPartIsCalledInTheOrderOfTheTable) {
  std::string calls;
  g_calls = &calls;
  CallParts(&Part::start);
  EXPECT_EQ(calls, "first starts;second starts;");
}

TEST(PartsTest, APartWithoutACallbackIsLeftOut) {
  std::string calls;
  g_calls = &calls;
  CallParts(&Part::on_tick);
  CallParts(&Part::at_end);
  EXPECT_EQ(calls, "first ticks;");
}

}  // namespace
}  // namespace plateau

#include "preload/base/hook_frame.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "preload/unwind/registers.h"

namespace plateau {
namespace {

struct Seen {
  unwind::Registers caller;
  uintptr_t return_address;
  uintptr_t local;
};

[[gnu::noinline]] void LookFromBelow(const void* frame, int levels, Seen* seen) {
  volatile char room[200] = {};
  if (levels > 0) {
    LookFromBelow(frame, levels - 1, seen);
  } else {
    seen->caller = unwind::CallerOfHook(frame);
  }
  room[1] = room[0];
}

[[gnu::noinline]] Seen Hook(int levels) {
  Seen seen = {};
  seen.return_address = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  seen.local = reinterpret_cast<uintptr_t>(&seen.return_address);
  LookFromBelow(HookFrame(), levels, &seen);
  return seen;
}

TEST(HookFrameTest, LeadsToTheCallerFromHoweverDeepItIsAsked) {
  for (int levels : {0, 1, 7}) {
    const Seen seen = Hook(levels);
    EXPECT_EQ(seen.caller.rip, unwind::ReturnAddressIn(seen.return_address));
    EXPECT_EQ(seen.caller.rsp % 16, 0u);
    EXPECT_EQ(seen.caller.rbp, Hook(0).caller.rbp);
    EXPECT_EQ(seen.caller.rsp, Hook(0).caller.rsp);
  }
}

}  // namespace
}  // namespace plateau

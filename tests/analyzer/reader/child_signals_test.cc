#include "analyzer/reader/child_signals.h"

#include "gtest/gtest.h"
#include "tests/support/trace_text.h"

namespace plateau::reader {
namespace {

TEST(ChildSignalsTest, AreReadFromTheTraceOfTheProcessThatWaited) {
  const std::string path = testing::WriteTemporary("launcher.plt", testing::TraceFromText(R"(
header mode=exact pid=100 clean_exit=1
stream 1
info key="child:4711" value="9"
seal
info key="child:4712" value="15"
info key="role" value="main"
)"));
  ChildSignals signals;
  const absl::Status status = ReadChildSignals(path, "node-7/", &signals);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(signals, (ChildSignals{{{"node-7/", 100, 4711}, 9}, {{"node-7/", 100, 4712}, 15}}));
}

TEST(ChildSignalsTest, ContainersWithEqualNumbersAreToldApart) {
  TraceIdentity first, second;
  first.host = second.host = "node-7";
  second.pod = "3f1c";
  ChildSignals signals;
  AddChildSignal(MachineOf(first), 1, "child:12", "9", &signals);
  AddChildSignal(MachineOf(second), 1, "child:12", "15", &signals);
  EXPECT_EQ((signals[{MachineOf(first), 1, 12}]), 9);
  EXPECT_EQ((signals[{MachineOf(second), 1, 12}]), 15);
}

TEST(ChildSignalsTest, WhatIsNoSignalIsPassedOver) {
  ChildSignals signals;
  AddChildSignal("node-7/", 100, "child:1", "0", &signals);
  AddChildSignal("node-7/", 100, "child:2", "65", &signals);
  AddChildSignal("node-7/", 100, "child:3", "nine", &signals);
  AddChildSignal("node-7/", 100, "child:-4", "9", &signals);
  AddChildSignal("node-7/", 100, "child:", "9", &signals);
  AddChildSignal("node-7/", 100, "job", "9", &signals);
  EXPECT_TRUE(signals.empty());
}

TEST(ChildSignalsTest, ARequestToEndIsNoKill) {
  EXPECT_EQ(EndingBySignal(9), "killed by SIGKILL");
  EXPECT_EQ(EndingBySignal(11), "killed by SIGSEGV");
  EXPECT_EQ(EndingBySignal(15), "stopped by SIGTERM");
  EXPECT_EQ(EndingBySignal(40), "killed by signal 40");
}

}  // namespace
}  // namespace plateau::reader

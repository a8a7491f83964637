#include "analyzer/report/process_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plateau::report {
namespace {

Process Started(int64_t pid, int64_t parent, double seconds) {
  Process process;
  process.pid = pid;
  process.parent_pid = parent;
  process.start_seconds = seconds;
  return process;
}

// "1 -11 --111 -12": pids behind as many dashes as they are deep.
std::string Order(const std::vector<Process>& processes) {
  std::string text;
  for (const ProcessPlace& place : OrderAsTree(processes)) {
    if (!text.empty()) text += ' ';
    text += std::string(static_cast<size_t>(place.depth), '-') + std::to_string(processes[place.index].pid);
  }
  return text;
}

TEST(ProcessOrderTest, WorkersStandBehindTheirRank) {
  EXPECT_EQ(Order({Started(1, 0, 0), Started(11, 1, 1), Started(12, 1, 2), Started(121, 12, 3),
                   Started(111, 11, 4)}),
            "1 -11 --111 -12 --121");
}

TEST(ProcessOrderTest, ProcessesOfUnknownParentsAreRoots) {
  EXPECT_EQ(Order({Started(5, 99, 1), Started(4, 98, 0)}), "4 5");
}

TEST(ProcessOrderTest, WhatAProgramStartedAfterExecIsBelowIt) {
  // A shell becomes the training, which starts a worker.
  const std::vector<Process> processes = {Started(7, 0, 0), Started(7, 0, 1), Started(8, 7, 2)};
  EXPECT_EQ(Order(processes), "7 7 -8");
  EXPECT_EQ(OrderAsTree(processes)[1].index, 1u);
}

TEST(ProcessOrderTest, APidThatIsItsOwnParentAndACircleEnd) {
  EXPECT_EQ(Order({Started(3, 3, 0)}), "3");
  EXPECT_EQ(Order({Started(1, 2, 0), Started(2, 1, 1)}), "1 -2");
}

TEST(ProcessOrderTest, NoneIsEmpty) { EXPECT_EQ(Order({}), ""); }

}  // namespace
}  // namespace plateau::report

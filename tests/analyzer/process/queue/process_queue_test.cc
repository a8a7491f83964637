#include "analyzer/process/queue/process_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace plateau::process {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(PlanLanesTest, RanksOfOneSizeShareTheProcessors) {
  const Lanes lanes = PlanLanes(std::vector<uint64_t>(8, 10 * kMiB), 16);
  EXPECT_EQ(lanes.count, 8u);
  EXPECT_EQ(lanes.threads, 2);
  EXPECT_EQ(PlanLanes(std::vector<uint64_t>(1000, 1000), 4).count, 4u);
}

TEST(PlanLanesTest, OneLargeTraceHasAllProcessorsForItself) {
  EXPECT_EQ(PlanLanes({100 * kMiB, kMiB, kMiB}, 8).count, 1u);
  EXPECT_EQ(PlanLanes({100 * kMiB, kMiB, kMiB}, 8).threads, 0);
  EXPECT_EQ(PlanLanes({kMiB}, 8).count, 1u);
  EXPECT_EQ(PlanLanes(std::vector<uint64_t>(8, kMiB), 1).count, 1u);
}

TEST(PlanLanesTest, LargeTracesAreFewAtATime) {
  EXPECT_EQ(PlanLanes(std::vector<uint64_t>(8, 700 * kMiB), 64).count, 2u);
  EXPECT_EQ(PlanLanes(std::vector<uint64_t>(8, 3000 * kMiB), 64).count, 1u);
}

// A launcher that started `ranks`, each with a worker: 0, then the ranks, then the workers.
reader::Recording Job(uint32_t ranks) {
  reader::Recording recording;
  const auto add = [&recording](uint32_t pid, uint32_t parent) {
    reader::TraceFile trace;
    trace.header.pid = pid;
    trace.header.parent_pid = parent;
    trace.header.start_realtime_ns = recording.traces.size() + 1;
    recording.traces.push_back(trace);
  };
  add(1, 0);
  for (uint32_t rank = 0; rank < ranks; ++rank) add(10 + rank, 1);
  for (uint32_t rank = 0; rank < ranks; ++rank) add(100 + rank, 10 + rank);
  return recording;
}

TEST(ProcessQueueTest, HandsOverInOrderAndNeverMoreThanThereAreLanes) {
  const reader::Recording recording = Job(20);
  const reader::ProcessTree tree(recording);
  for (const size_t lanes : {1u, 2u, 5u}) {
    std::atomic<int> there{0}, most{0};
    std::vector<std::atomic<bool>> done(recording.traces.size());
    std::atomic<int> early{0};
    ProcessQueue queue(recording.traces.size(), tree, {}, {lanes, 1},
                       [&](size_t trace, int, symbols::Symbolizer*) -> Analyzed {
                         for (auto above = tree.ParentOf(trace); above; above = tree.ParentOf(*above))
                           early += done[*above] ? 0 : 1;
                         const int now = ++there;
                         for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
                         }
                         return absl::UnknownError(absl::StrCat(trace));
                       });
    for (size_t i = 0; i < recording.traces.size(); ++i) {
      EXPECT_EQ(queue.Take(i).status().message(), absl::StrCat(i));
      --there;
      done[i] = true;
      queue.Done(i);
    }
    EXPECT_LE(most, static_cast<int>(lanes));
    EXPECT_EQ(early, 0) << "a process was analysed before the one that started it was done with";
  }
}

TEST(ProcessQueueTest, MayBeLeftInTheMiddle) {
  const reader::Recording recording = Job(20);
  const reader::ProcessTree tree(recording);
  ProcessQueue queue(recording.traces.size(), tree, {}, {3, 1},
                     [](size_t, int, symbols::Symbolizer*) -> Analyzed { return absl::UnknownError(""); });
  EXPECT_FALSE(queue.Take(0).ok());
}

}  // namespace
}  // namespace plateau::process

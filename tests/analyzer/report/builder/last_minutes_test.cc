#include "analyzer/report/builder/last_minutes.h"

#include <gtest/gtest.h>

namespace plateau::report {
namespace {

constexpr int64_t kMiB = 1 << 20;

// 400 seconds, a step each; "grower" takes a MiB per step, "holder" has 300 all along.
ReportModel KilledModel() {
  ReportModel model;
  model.recording.ending = "signal 9; out of memory: the cgroup /job was at its limit of 1.00 GiB";
  Site grower, holder;
  grower.site = "train.py:19 in keep";
  holder.site = "train.py:3 in load";
  for (int i = 0; i <= 400; ++i) {
    model.axis_steps.push_back(i);
    model.axis_seconds.push_back(i);
    grower.live_bytes.push_back(i * kMiB);
    holder.live_bytes.push_back(500 * kMiB);
    LedgerReading reading;
    reading.time_seconds = i;
    reading.step = i;
    reading.rss_bytes = (500 + i) * kMiB;
    model.ledger.push_back(reading);
  }
  model.sites = {holder, grower};
  OutOfMemory refused;
  refused.device = 0;
  refused.requested_bytes = 64 * kMiB;
  refused.step = 399;
  refused.site = "train.py:42 in forward";
  model.out_of_memory.push_back(refused);
  return model;
}

TEST(LastMinutesTest, WhoAskedLastIsNotWhoHoldsMost) {
  const LastMinutes last = LastMinutesOf(KilledModel());
  EXPECT_TRUE(last.is_out_of_memory);
  EXPECT_EQ(last.from_seconds, 300);  // a quarter of the run, when that is less than two minutes
  EXPECT_EQ(last.to_seconds, 400);
  ASSERT_EQ(last.asked.size(), 1u);
  EXPECT_EQ(last.asked[0].site, "train.py:19 in keep");
  EXPECT_EQ(last.asked[0].grown_bytes, 100 * kMiB);
  ASSERT_EQ(last.largest.size(), 2u);
  EXPECT_EQ(last.largest[0].site, "train.py:3 in load");
  ASSERT_EQ(last.refused.size(), 1u);
  EXPECT_EQ(last.refused[0], "64.0 MiB on device 0 at step 399 in train.py:42 in forward");
  EXPECT_EQ(last.sentence,
            "in the last 1 min 40 s resident memory went from 800 MiB to 900 MiB; train.py:19 in keep asked "
            "for most of "
            "it (100 MiB); the largest was train.py:3 in load with 500 MiB; refused: " +
                last.refused[0]);
}

TEST(LastMinutesTest, ARunThatEndedByItselfHasNone) {
  ReportModel model = KilledModel();
  for (const char* ending : {"exit 0", "exit 1", "signal 2", "still running", ""}) {
    model.recording.ending = ending;
    EXPECT_EQ(LastMinutesOf(model).to_seconds, 0) << ending;
  }
}

TEST(LastMinutesTest, WithoutCurvesOnlyResidentMemoryIsTold) {
  ReportModel model = KilledModel();
  for (Site& site : model.sites) site.live_bytes.clear();
  model.out_of_memory.clear();
  EXPECT_EQ(LastMinutesOf(model).sentence,
            "in the last 1 min 40 s resident memory went from 800 MiB to 900 MiB");
}

TEST(LastMinutesTest, AnEmptyRecordingIsNoTrouble) {
  ReportModel model;
  model.recording.ending = "signal 9";
  EXPECT_EQ(LastMinutesOf(model).to_seconds, 0);
}

}  // namespace
}  // namespace plateau::report

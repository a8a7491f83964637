#include "analyzer/report/builder/rank_reports.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plateau::report {
namespace {

using reader::RankSource;
using ::testing::ElementsAre;
using ::testing::Optional;

struct Written {
  uint32_t pid;
  uint32_t parent;
  std::optional<int> rank;
  RankSource source = RankSource::kLauncher;
};

std::vector<std::optional<size_t>> Ranks(const std::vector<Written>& processes) {
  reader::Recording recording;
  std::vector<reader::TraceIdentity> identities;
  for (const Written& process : processes) {
    reader::TraceFile trace{};
    trace.header.pid = process.pid;
    trace.header.parent_pid = process.parent;
    recording.traces.push_back(trace);
    reader::TraceIdentity who;
    who.rank = process.rank;
    who.rank_source = process.rank ? process.source : RankSource::kNone;
    identities.push_back(who);
  }
  return RanksOf(recording, identities);
}

TEST(RankReportsTest, ALauncherIsNoRankAndWorkersBelongToTheirs) {
  // torchrun, two ranks, a worker of the second (which inherits its number), a compiler of the launcher
  EXPECT_THAT(Ranks({{1, 0, std::nullopt}, {2, 1, 0}, {3, 1, 1}, {4, 3, 1}, {5, 1, std::nullopt}}),
              ElementsAre(std::nullopt, Optional(1u), Optional(2u), Optional(2u), std::nullopt));
}

TEST(RankReportsTest, ALauncherWithTheNumberOfItsTaskIsNoRank) {
  EXPECT_THAT(Ranks({{1, 0, 0, RankSource::kScheduler}, {2, 1, 0}, {3, 1, 1}}),
              ElementsAre(std::nullopt, Optional(1u), Optional(2u)));
  // Where its own number is that of a rank and from the same source, the ranks beside it tell.
  EXPECT_THAT(Ranks({{1, 0, 0}, {2, 1, 0}, {3, 1, 1}}),
              ElementsAre(std::nullopt, Optional(1u), Optional(2u)));
}

TEST(RankReportsTest, ANumberThatTorchToldAProcessOfAnotherOneIsItsOwn) {
  EXPECT_THAT(
      Ranks({{1, 0, std::nullopt}, {2, 1, 0, RankSource::kTorch}, {3, 1, 1, RankSource::kTorch}, {4, 2, 0}}),
      ElementsAre(std::nullopt, Optional(1u), Optional(2u), Optional(1u)));
}

TEST(RankReportsTest, AProcessThatBecomesAnotherProgramIsOneRank) {
  // env and a shell of pid 2 become the training, whose worker is 4; 3 is a helper of the shell
  EXPECT_THAT(Ranks({{2, 1, 0}, {2, 1, 0}, {3, 2, 0}, {2, 1, 0}, {4, 2, 0}}),
              ElementsAre(Optional(0u), Optional(0u), Optional(0u), Optional(0u), Optional(0u)));
}

TEST(RankReportsTest, WithoutNumbersThereAreNoRanks) {
  EXPECT_THAT(Ranks({{1, 0, std::nullopt}, {2, 1, std::nullopt}}), ElementsAre(std::nullopt, std::nullopt));
}

TEST(RankReportsTest, WhatCannotBeReadIsAReason) {
  const RecordingReport report = BuildRankReports("/nonexistent/recording", {}, 1);
  EXPECT_EQ(report.soundness, Soundness::kUnreadable);
  EXPECT_NE(report.reason.find("/nonexistent/recording"), std::string::npos);
  EXPECT_TRUE(report.ranks.empty());
}

}  // namespace
}  // namespace plateau::report

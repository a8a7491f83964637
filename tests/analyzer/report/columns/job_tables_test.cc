#include "analyzer/report/columns/job_tables.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plateau::report {
namespace {

using ::testing::ElementsAre;

const Table& Named(const std::vector<Table>& tables, const std::string& name) {
  return *std::find_if(tables.begin(), tables.end(),
                       [&](const Table& table) { return table.name() == name; });
}

const Column& ColumnOf(const std::vector<Table>& tables, const std::string& table, const std::string& name) {
  const auto& columns = Named(tables, table).columns();
  return *std::find_if(columns.begin(), columns.end(),
                       [&](const Column& column) { return column.spec.name == name; });
}

// A rank with `sites` sites of 10001 bytes, of which the last one grows.
RankReport Rank(int rank, int sites) {
  RankReport report;
  report.rank = rank;
  report.has_rank = true;
  report.pid = 100 + rank;
  report.host = "node1";
  ReportModel& model = report.model;
  model.processes.push_back({.pid = report.pid, .verdict = "slow_leak"});
  model.verdict.name = "slow_leak";
  model.frames.push_back({.function = "collate", .file = "/home/user/train.py", .line = 42});
  for (int i = 0; i < 200; ++i) model.axis_steps.push_back(i);
  for (int i = 0; i < sites; ++i) {
    Site site;
    site.site = absl::StrCat("train.py:", i);
    site.file = "/home/user/train.py";
    site.line = i;
    site.retained_bytes = 10001;
    site.stack = {0};
    site.live_bytes.assign(200, 10001);
    model.totals.retained_bytes += site.retained_bytes;
    model.sites.push_back(site);
  }
  model.sites.back().growth_bytes_per_step = 64;
  model.sites.back().verdict = "slow_leak";
  return report;
}

RecordingReport Recording(std::vector<RankReport> ranks) {
  RecordingReport recording;
  recording.path = "/data/rec";
  recording.ranks = std::move(ranks);
  return recording;
}

TEST(JobTablesTest, EveryTableIsThereAlsoWithoutRows) {
  const auto tables = TablesOf(Recording({}));
  std::vector<std::string> names;
  for (const Table& table : tables) names.push_back(table.name());
  EXPECT_THAT(names, ElementsAre("jobs", "ranks", "sites", "series", "ledger", "stacks", "frames", "verdicts",
                                 "holders"));
  EXPECT_EQ(Named(tables, "jobs").rows(), 1u);
  EXPECT_EQ(Named(tables, "ranks").rows(), 0u);
}

TEST(JobTablesTest, SitesOfARankAddUpToItsTotal) {
  const auto tables = TablesOf(Recording({Rank(0, 500)}));
  const auto& bytes = ColumnOf(tables, "sites", "retained_bytes").integers;
  EXPECT_EQ(bytes.size(), 201u);
  EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), int64_t{0}), 500 * 10001);
  EXPECT_EQ(ColumnOf(tables, "sites", "site").texts.back(), "[other sites]");
}

TEST(JobTablesTest, TheSiteThatGrowsComesFirstAndIsNamed) {
  const auto tables = TablesOf(Recording({Rank(0, 500)}));
  EXPECT_EQ(ColumnOf(tables, "sites", "site").texts.front(), "train.py:499");
  EXPECT_THAT(ColumnOf(tables, "ranks", "site").texts, ElementsAre("train.py:499"));
}

TEST(JobTablesTest, ASiteHasOneKeyOnAllRanks) {
  const auto tables = TablesOf(Recording({Rank(0, 1), Rank(1, 1)}));
  const auto& keys = ColumnOf(tables, "sites", "site_key").texts;
  ASSERT_EQ(keys.size(), 4u);
  EXPECT_EQ(keys[0], keys[2]);
  EXPECT_NE(keys[0], keys[1]);
  EXPECT_EQ(Named(tables, "frames").rows(), 1u);
  EXPECT_EQ(Named(tables, "stacks").rows(), 1u);
}

TEST(JobTablesTest, TwoSitesOfOneNameAreOne) {
  RankReport rank = Rank(0, 1);
  rank.model.sites.push_back(rank.model.sites[0]);
  rank.model.sites.back().library = "elsewhere.py:7 in helper";
  rank.model.sites.back().growth_bytes_per_step = 0;
  const auto tables = TablesOf(Recording({rank}));
  EXPECT_THAT(ColumnOf(tables, "sites", "retained_bytes").integers, ElementsAre(20002, 0));
  EXPECT_THAT(ColumnOf(tables, "sites", "growth_bytes_per_step").reals, ElementsAre(64, 0));
  EXPECT_EQ(ColumnOf(tables, "series", "live_bytes").integers.front(), 20002);
}

TEST(JobTablesTest, CurvesKeepTheirFirstAndLastPoint) {
  const auto tables = TablesOf(Recording({Rank(0, 1)}));
  const auto& steps = ColumnOf(tables, "series", "step").reals;
  EXPECT_EQ(steps.size(), 64u);
  EXPECT_EQ(steps.front(), 0);
  EXPECT_EQ(steps.back(), 199);
}

TEST(JobTablesTest, GroupsOfAMeshHaveColumns) {
  RankReport rank = Rank(3, 1);
  rank.group = "dp=1/2 tp=0/2 odd";
  const auto tables = TablesOf(Recording({rank}));
  EXPECT_THAT(ColumnOf(tables, "ranks", "data_parallel").integers, ElementsAre(1));
  EXPECT_THAT(ColumnOf(tables, "ranks", "tensor_parallel").integers, ElementsAre(0));
  EXPECT_THAT(ColumnOf(tables, "ranks", "pipeline_parallel").is_null, ElementsAre(true));
}

TEST(JobTablesTest, ARecordingThatWasMovedKeepsItsKey) {
  RecordingReport here = Recording({Rank(0, 1)}), there = here;
  there.path = "/elsewhere/rec";
  EXPECT_EQ(RecordingKey(here), RecordingKey(there));
  EXPECT_NE(RecordingKey(here), RecordingKey(Recording({Rank(1, 1)})));
}

}  // namespace
}  // namespace plateau::report

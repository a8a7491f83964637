#include "analyzer/report/site_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/report_fixtures.h"

namespace plateau::report {
namespace {

void ExpectAddsUp(const ReportModel& model, const SiteListing& table, const std::string& what) {
  TableRow sum;
  auto add = [&sum](const std::vector<TableRow>& rows) {
    for (const TableRow& row : rows) {
      sum.retained_bytes += row.retained_bytes;
      sum.retained_count += row.retained_count;
      sum.peak_bytes += row.peak_bytes;
      sum.temporary_bytes += row.temporary_bytes;
      sum.alloc_count += row.alloc_count;
    }
  };
  add(table.rows);
  add(table.rest);
  EXPECT_EQ(sum.retained_bytes, model.totals.retained_bytes) << what;
  EXPECT_EQ(sum.retained_count, model.totals.retained_count) << what;
  EXPECT_EQ(sum.peak_bytes, model.totals.peak_bytes) << what;
  EXPECT_EQ(sum.temporary_bytes, model.totals.temporary_bytes) << what;
  EXPECT_EQ(sum.alloc_count, model.totals.alloc_count) << what;
  EXPECT_EQ(table.total.retained_bytes, model.totals.retained_bytes) << what;
}

TEST(SiteTableTest, EveryGroupingAddsUp) {
  const ReportModel model = LeakModel();
  for (const char* name :
       {"site", "file", "function", "module", "thread", "process", "pool", "phase", "category"}) {
    TableOptions options;
    options.group = *ParseGrouping(name);
    for (size_t top : {0u, 1u, 3u}) {
      options.top = top;
      ExpectAddsUp(model, ListSites(model, options), name);
    }
  }
  EXPECT_EQ(ParseGrouping("colour"), std::nullopt);
}

TEST(SiteTableTest, SortsByWhatIsAsked) {
  TableOptions options;
  options.sort = *ParseSortKey("growth");
  EXPECT_EQ(ListSites(LeakModel(), options).rows[0].name, "train.py:57 in train_step");
  options.sort = *ParseSortKey("temporary");
  EXPECT_EQ(ListSites(LeakModel(), options).rows[0].name, "model.py:88 in forward");
  EXPECT_EQ(ParseSortKey("beauty"), std::nullopt);
}

TEST(SiteTableTest, BirthStepsRestrictWhatCounts) {
  const ReportModel model = LeakModel();
  TableOptions options;
  options.filter.from_step = 101;
  options.filter.to_step = 200;
  const SiteListing table = ListSites(model, options);
  ASSERT_FALSE(table.rows.empty());
  EXPECT_EQ(table.rows[0].name, "train.py:57 in train_step");
  EXPECT_NEAR(table.rows[0].retained_bytes, 100 * 1.2 * 1048576, 200000);
  ExpectAddsUp(model, table, "born within");
  TableOptions old;
  old.filter.min_age_steps = 399;
  ExpectAddsUp(model, ListSites(model, old), "age");
  EXPECT_EQ(ListSites(model, old).rows[0].name, "train.py:53 in train_step");
}

TEST(SiteTableTest, FiltersByPathPoolPhaseSizeAndText) {
  const ReportModel model = LeakModel();
  auto count = [&](auto set) {
    TableOptions options;
    set(options.filter);
    const SiteListing table = ListSites(model, options);
    ExpectAddsUp(model, table, "filter");
    return table.rows.size();
  };
  EXPECT_EQ(count([](SiteFilter& f) { f.path_glob = "train.*"; }), 3u);
  EXPECT_EQ(count([](SiteFilter& f) { f.path_glob = "/usr/lib/*"; }), 2u);
  EXPECT_EQ(count([](SiteFilter& f) { f.pool = "device 0"; }), 0u);
  EXPECT_EQ(count([](SiteFilter& f) { f.phase = "backward"; }), 1u);
  EXPECT_EQ(count([](SiteFilter& f) { f.verdict = "leak"; }), 1u);
  EXPECT_EQ(count([](SiteFilter& f) { f.max_object_bytes = 4096; }), 2u);
  EXPECT_EQ(count([](SiteFilter& f) { f.text = "COLLATE"; }), 1u);
}

TEST(SiteTableTest, SuppressedBytesKeepAName) {
  const ReportModel model = LeakModel();
  const absl::StatusOr<Suppressions> known = Suppressions::Parse("# known\nleak:nll_loss_forward\n");
  ASSERT_TRUE(known.ok());
  TableOptions options;
  options.suppressions = &*known;
  const SiteListing table = ListSites(model, options);
  ExpectAddsUp(model, table, "suppressed");
  EXPECT_EQ(table.rest[0].name, "[suppressed]");
  for (const TableRow& row : table.rows) EXPECT_NE(row.name, "train.py:57 in train_step");
}

TEST(SuppressionsTest, SyntaxOfLeakSanitizer) {
  EXPECT_TRUE(MatchesPattern("vector", "std::vector<int>"));
  EXPECT_FALSE(MatchesPattern("^vector", "std::vector<int>"));
  EXPECT_TRUE(MatchesPattern("^std::*<int>$", "std::vector<int>"));
  EXPECT_FALSE(MatchesPattern("int$", "std::vector<int>"));
  EXPECT_TRUE(MatchesPattern("a*b*c", "xxaybzc!"));
  EXPECT_FALSE(Suppressions::Parse("leak:ok\nrace:foo\n").ok());
  EXPECT_THAT(std::string(Suppressions::Parse("leak:ok\nrace:foo\n").status().message()),
              testing::HasSubstr("line 2"));
  EXPECT_FALSE(Suppressions::Parse("leak:\n").ok());
  EXPECT_TRUE(Suppressions::Parse("\n  # only a comment\n").value().empty());
}

TEST(GlobTest, MatchesPathsOrTheirLastPart) {
  EXPECT_TRUE(MatchesGlob("*.py", "/a/b/train.py"));
  EXPECT_TRUE(MatchesGlob("train.p?", "/a/b/train.py"));
  EXPECT_FALSE(MatchesGlob("/a/*.cc", "/a/b/train.py"));
  EXPECT_TRUE(MatchesGlob("/a/*", "/a/b/train.py"));
}

}  // namespace
}  // namespace plateau::report

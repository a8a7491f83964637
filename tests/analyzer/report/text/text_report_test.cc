#include "analyzer/report/text/text_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "analyzer/report/units.h"
#include "tests/support/report_fixtures.h"

namespace plateau::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TextReportTest, LinesFitAndControlCharactersAreGone) {
  for (const auto& [name, model] : AllModels()) {
    TextOptions text;
    text.columns = 100;
    const std::string out = WriteTextReport(model, TableOptions(), text);
    for (absl::string_view line : absl::StrSplit(out, '\n'))
      EXPECT_LE(DisplayWidth(line), 100) << name << ": " << line;
    EXPECT_THAT(out, Not(HasSubstr("\x1b"))) << name;
    EXPECT_THAT(out, HasSubstr("Total"));
    EXPECT_THAT(out, HasSubstr("[no stack]"));
    EXPECT_THAT(out, HasSubstr("unexplained"));
  }
}

TEST(TextReportTest, TableEndsInTheTotalOfTheModel) {
  const ReportModel model = LeakModel();
  const std::string out = WriteSiteTable(model, TableOptions());
  EXPECT_THAT(out, HasSubstr("train.py:57 in train_step"));
  EXPECT_THAT(out.substr(out.rfind("Total")), HasSubstr(FormatBytes(model.totals.retained_bytes)));
}

TEST(TextReportTest, DevicesAndRefusalsAreSaidWithTheirNumbers) {
  TextOptions text;
  text.columns = 400;
  const std::string out = WriteTextReport(FragmentationModel(), TableOptions(), text);
  EXPECT_THAT(out, HasSubstr("75 %"));
  EXPECT_THAT(out,
              HasSubstr("device 0: torch's own totals were compared at 41,200 blocks: they parted 2 times, "
                        "last by 512 B"));
  EXPECT_THAT(out,
              HasSubstr("device 0 refused 512 MiB at step 88, asked for by model.py:88 in forward (torch's "
                        "allocator): 1.75 GiB reserved, 768 MiB in tensors, 1.88 GiB of 2.00 GiB in use by "
                        "all processes, 1.00 GiB free inside torch's segments with 256 MiB in one piece"));
  EXPECT_THAT(out, HasSubstr("torch: ranges armed"));
  EXPECT_THAT(WriteTextReport(SteadyModel(), TableOptions(), text), Not(HasSubstr("Out of memory")));
}

TEST(TextReportTest, LiveTensorsAreShownAtAFewSteps) {
  const std::string out = WriteTextReport(LeakModel(), TableOptions(), TextOptions());
  EXPECT_THAT(out, HasSubstr("Live tensors"));
  EXPECT_THAT(out, HasSubstr("host tensors"));
  EXPECT_THAT(out, HasSubstr("step 400"));
}

TEST(CallTreeTest, LargeBranchesAreShownSmallOnesAddedUp) {
  TreeOptions tree;
  tree.min_share = 0.2;
  const std::string out = WriteCallTree(LeakModel(), tree);
  EXPECT_THAT(out, HasSubstr("all"));
  EXPECT_THAT(out, HasSubstr("train_step train.py:53"));
  EXPECT_THAT(out, HasSubstr("smaller]"));
  tree.metric = TreeMetric::kGrowth;
  EXPECT_THAT(WriteCallTree(LeakModel(), tree), HasSubstr("train_step train.py:57"));
  EXPECT_THAT(WriteCallTree(ReportModel(), tree), HasSubstr("all"));
}

}  // namespace
}  // namespace plateau::report

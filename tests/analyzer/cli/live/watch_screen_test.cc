#include "analyzer/cli/live/watch_screen.h"

#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "analyzer/report/units.h"
#include "tests/support/report_fixtures.h"

namespace plateau::cli {
namespace {

std::string Drawn(const report::ReportModel& model, WatchState state) {
  return absl::StrJoin(WatchScreen(model, state), "\n");
}

TEST(WatchScreenTest, EveryLineFitsAtAnyWidthAndHeightAndIsWholeUtf8) {
  for (const auto& [name, model] : report::AllModels()) {
    for (const int columns : {20, 31, 40, 44, 60, 72, 79, 80, 90, 100, 133, 200}) {
      for (const bool details : {false, true}) {
        for (const int rows : {2, 6, 24, 60}) {
          const WatchState state = {.shows_details = details, .columns = columns, .rows = rows};
          const std::vector<std::string> lines = WatchScreen(model, state);
          EXPECT_LT(static_cast<int>(lines.size()), rows);
          for (const std::string& line : lines) {
            EXPECT_LE(report::DisplayWidth(line), columns) << name << ": " << line;
            EXPECT_EQ(report::ValidUtf8(line), line) << name << " at " << columns;
          }
        }
      }
    }
  }
}

TEST(WatchScreenTest, TheFirstLinesAreVerdictStateAndHeadline) {
  const std::string screen = Drawn(report::LeakModel(), {.columns = 120, .rows = 40});
  EXPECT_NE(screen.find(" LEAK  running  400 steps"), std::string::npos) << screen;
  EXPECT_NE(screen.find("train.py:57 in train_step keeps 1.20 MiB every step"), std::string::npos) << screen;
  EXPECT_NE(Drawn(report::LeakModel(), {.is_running = false}).find("  ended  "), std::string::npos);
  EXPECT_NE(Drawn(report::LeakModel(), {.is_paused = true}).find("  paused  "), std::string::npos);
}

TEST(WatchScreenTest, ConfidenceGrowsWithTheSteps) {
  report::ReportModel model = report::InconclusiveModel();
  const double early = ConfidenceOf(model).share;
  model.steps.count += 15;
  model.verdict.needs_steps = *model.verdict.needs_steps - 15;
  EXPECT_GT(ConfidenceOf(model).share, early);
  EXPECT_LT(ConfidenceOf(model).share, 1);
  EXPECT_NE(ConfidenceOf(report::LeakModel()).words.find("the rate is known to"), std::string::npos);
  EXPECT_EQ(ConfidenceOf(report::SteadyModel()).share, 1);
}

TEST(WatchScreenTest, SortingMovesTheRowsAndTheChoiceStaysInView) {
  const report::ReportModel model = report::LeakModel();
  WatchState state = {.columns = 100, .rows = 40};
  EXPECT_EQ(RowsOf(model, state).front(), "train.py:57 in train_step");
  state.sort = NextSort(state.sort);
  EXPECT_EQ(RowsOf(model, state).front(), "train.py:53 in train_step");
  for (int i = 0; i < 3; ++i) state.sort = NextSort(state.sort);
  EXPECT_EQ(state.sort, report::SortKey::kGrowth);
  state.rows = 9;
  state.chosen = RowsOf(model, state).size() - 1;
  EXPECT_NE(Drawn(model, state).find("> "), std::string::npos) << Drawn(model, state);
}

TEST(WatchScreenTest, DetailsOfTheChosenSiteHaveItsSourceAndStack) {
  const std::string screen = Drawn(report::LeakModel(), {.shows_details = true, .columns = 120, .rows = 50});
  EXPECT_NE(screen.find("history.append(loss)"), std::string::npos) << screen;
  EXPECT_NE(screen.find("aten::nll_loss_forward"), std::string::npos) << screen;
}

TEST(WatchScreenTest, RanksAreListedWhenThereAreSeveral) {
  report::ReportModel model = report::LeakModel();
  model.processes.resize(2);
  for (int i = 0; i < 2; ++i) {
    model.processes[i].role = "main";
    model.processes[i].rank = 1 - i;
    model.processes[i].verdict = i == 0 ? "slow_leak" : "steady";
  }
  const std::string screen = Drawn(model, {.columns = 100, .rows = 40});
  const size_t first = screen.find("  0  steady"), second = screen.find("  1  slow leak");
  EXPECT_NE(first, std::string::npos) << screen;
  EXPECT_LT(first, second);
}

}  // namespace
}  // namespace plateau::cli

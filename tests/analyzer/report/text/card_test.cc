#include "analyzer/report/text/card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/report/text/text_report.h"
#include "analyzer/report/units.h"
#include "tests/support/report_fixtures.h"

namespace plateau::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();
  return lines;
}

TEST(CardTest, EveryVerdictFitsOnACard) {
  for (const auto& [name, model] : AllModels()) {
    const std::string card = WriteCard(model);
    const std::vector<std::string> lines = Lines(card);
    EXPECT_LE(lines.size(), 28u) << name << "\n" << card;
    for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), 80) << name << ": " << line;
  }
}

TEST(CardTest, NoLineIsWiderThanTheTerminal) {
  for (auto [name, model] : AllModels()) {
    model.verdict.name = "worker_duplication";  // the longest
    model.recording.command = "/opt/somewhere/bin/python3 -u /home/ada/src/train.py --epochs 3";
    for (const int columns : {60, 80, 120, 160}) {
      CardOptions options;
      options.columns = columns;
      const std::vector<std::string> lines = Lines(WriteCard(model, options));
      for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), columns) << name << ": " << line;
      EXPECT_THAT(lines[0], HasSubstr(" steps"));
      EXPECT_THAT(lines[0], HasSubstr("3")) << "the end of the command is left";
    }
  }
}

TEST(CardTest, ACommandThatIsTooLongLosesItsDirectoryFirst) {
  ReportModel model = LeakModel();
  model.recording.command = "/opt/somewhere/bin/python3 train.py --epochs 3";
  EXPECT_THAT(WriteCard(model), HasSubstr("  python3 train.py --epochs 3  "));
  model.recording.command = "/bin/python3 train.py";
  EXPECT_THAT(WriteCard(model), HasSubstr("  /bin/python3 train.py  "));
}

TEST(CardTest, WhatDoesNotExplainTheVerdictIsAlsoSeen) {
  ReportModel model = LeakModel();
  model.verdict.next_steps = {"Loss kept with its graph (K06): append loss.item()."};
  model.patterns = {{"K06", "Loss kept with its graph", "", "append loss.item().", ""},
                    {"K12", "A bounded cache is full", "", "nothing to fix.", ""}};
  const std::string card = WriteCard(model);
  EXPECT_THAT(card, HasSubstr("\nNext       Loss kept with its graph (K06): append loss.item().\n"
                              "Also seen  A bounded cache is full (K12): nothing to fix.\n"));
}

TEST(CardTest, AGapBelowZeroIsLeftToTheLedger) {
  ReportModel model = LeakModel();
  model.ledger.back().allocator_gap_bytes = -1000;
  EXPECT_THAT(WriteCard(model), Not(HasSubstr("gap")));
}

TEST(CardTest, LeakCardNamesTheLineTheRateAndTheDate) {
  const std::string card = WriteCard(LeakModel());
  EXPECT_THAT(card, HasSubstr("LEAK"));
  EXPECT_THAT(card, HasSubstr("1.20 MiB/step"));
  EXPECT_THAT(card, HasSubstr("train.py:57 in train_step"));
  EXPECT_THAT(card, HasSubstr("history.append(loss)"));
  EXPECT_THAT(card, HasSubstr("step 5,330"));
  EXPECT_LT(card.find("train.py:57"),
            card.find("train.py:53"));  // the leak before the larger optimizer state
  EXPECT_THAT(card, HasSubstr("loss.item()"));
  EXPECT_THAT(card, HasSubstr("optimizer state"));
  EXPECT_THAT(card, HasSubstr("█"));
}

TEST(CardTest, TheSiteOfTheVerdictComesFirstThenWhatGrows) {
  ReportModel model;
  model.verdict.name = "inconclusive";
  model.verdict.site = "train.py:9 in keep";
  const auto add = [&model](const char* name, int64_t bytes, double growth) {
    Site& site = model.sites.emplace_back();
    site.site = name;
    site.retained_bytes = bytes;
    site.growth_bytes_per_step = growth;
    site.verdict = growth > 0 ? "inconclusive" : "steady";
  };
  add("train.py:1 in load", 900'000, 0);
  add("train.py:5 in slow", 50'000, 10);
  add("train.py:6 in fast", 20'000, 500);
  add("train.py:9 in keep", 10'000, 100);
  const std::string card = WriteCard(model);
  EXPECT_LT(card.find("train.py:9"), card.find("train.py:6"));
  EXPECT_LT(card.find("train.py:6"), card.find("train.py:5"));
  EXPECT_LT(card.find("train.py:5"), card.find("train.py:1"));
}

TEST(CardTest, InconclusiveCardSaysWhatDecides) {
  const std::string card = WriteCard(InconclusiveModel());
  EXPECT_THAT(card, HasSubstr("INCONCLUSIVE"));
  EXPECT_THAT(card, HasSubstr("about 20 more steps decide it"));
  EXPECT_THAT(card, HasSubstr("If it is a leak"));
  EXPECT_THAT(card, HasSubstr("If it is a cache"));
}

TEST(CardTest, NoEscapesUnlessAskedAndNoneFromTheRecording) {
  EXPECT_THAT(WriteCard(HostileModel()), Not(HasSubstr("\x1b")));
  CardOptions color;
  color.color = true;
  const std::string card = WriteCard(HostileModel(), color);
  EXPECT_THAT(card, HasSubstr("\x1b["));
  EXPECT_THAT(card, Not(HasSubstr("\x1b]0;title")));
}

TEST(CardTest, CurvesEndWithTheTraining) {
  ReportModel model = LeakModel();
  LedgerReading exit = model.ledger.back();  // the same step, memory already given back
  exit.live_bytes = 1 << 20;
  exit.rss_bytes = 2 << 20;
  model.ledger.push_back(exit);
  EXPECT_THAT(WriteCard(model), HasSubstr("-> 1.82 GiB"));
}

TEST(CardTest, EmptyModelStillMakesACard) {
  EXPECT_THAT(WriteCard(ReportModel()), HasSubstr("INCONCLUSIVE"));
}

TEST(CardTest, DropsAndDamageAreSaid) {
  ReportModel model = SteadyModel();
  model.losses.dropped_events = 1234;
  model.losses.damaged_blocks = 2;
  CardOptions wide;
  wide.columns = 120;
  EXPECT_THAT(WriteCard(model, wide), HasSubstr("1.23 k events dropped, 2 blocks damaged"));
}

TEST(CardTest, WhatExactModeSampledIsSaid) {
  ReportModel model = LeakModel();
  RecordingInfo& r = model.recording;
  r.mode = "exact";
  r.sample_bytes = 0;
  r.python_sample_bytes = 524288;
  // Lines are joined: where they are broken is not the point.
  const auto recorded = [&model] {
    std::vector<std::string> words =
        absl::StrSplit(WriteCard(model), absl::ByAnyChar(" \n"), absl::SkipEmpty());
    return absl::StrJoin(words, " ");
  };
  EXPECT_THAT(recorded(), HasSubstr("exact mode, Python's small objects sampled; steps"));
  r.sampled_from_seconds = 12;
  r.totals_only_from_seconds = 20;
  EXPECT_THAT(recorded(),
              HasSubstr("exact mode, Python's small objects sampled, other small ones from 12.0 s on "
                        "(size limit); steps from optimizer; totals only from 20.0 s on; nothing lost; "));
  EXPECT_THAT(recorded(), Not(HasSubstr("…")));
  r.python_sample_bytes = 0;
  EXPECT_THAT(recorded(), HasSubstr("exact mode, small requests sampled from 12.0 s on (size limit); steps"));
}

TEST(CardTest, MissingPythonFramesAreSaid) {
  ReportModel model = LeakModel();
  CardOptions wide;
  wide.columns = 200;
  model.recording.levels = {{"python", "CPython 3.11.2: frames on; pymalloc is sampled"}};
  EXPECT_THAT(WriteCard(model, wide), Not(HasSubstr("CPython")));
  model.recording.levels = {
      {"python", "CPython 3.15.2: frames off (this version's frame layout is not known)"}};
  EXPECT_THAT(WriteCard(model, wide),
              HasSubstr("; CPython 3.15.2: frames off (this version's frame layout is not known); "));
}

TEST(CardTest, GapOfAnAllocatorThatWasNotAskedIsMarked) {
  ReportModel model = LeakModel();
  EXPECT_THAT(WriteCard(model), HasSubstr("gap 57.2 MiB"));
  for (LedgerReading& sample : model.ledger) sample.allocator_gap_is_estimated = true;
  EXPECT_THAT(WriteCard(model), HasSubstr("gap ~57.2 MiB"));
  EXPECT_THAT(WriteTextReport(model, {}, {}), HasSubstr("allocator gap, estimated"));
}

TEST(CardTest, PeakIsNeverBelowTheCurveBesideIt) {
  ReportModel model = LeakModel();
  model.totals.peak_bytes = 1000;
  EXPECT_THAT(WriteCard(model), Not(HasSubstr("peak 1000 B")));
}

TEST(CardTest, KindOfMemoryIsNamedUnlessItIsTheHosts) {
  ReportModel model = LeakModel();
  EXPECT_THAT(WriteCard(model), Not(HasSubstr("(host)")));
  for (Site& site : model.sites) site.pool = "python";
  EXPECT_THAT(WriteCard(model), HasSubstr("(python) "));
}

}  // namespace
}  // namespace plateau::report

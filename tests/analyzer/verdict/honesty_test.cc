// The honesty rules, on random mixes of sites, ledgers and gaps of coverage, and on all labelled processes.
// The rules are written down a second time here, as a reader of docs/verdicts.md would.
#include "analyzer/verdict/honesty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "analyzer/verdict/cases/case_file.h"
#include "analyzer/verdict/process_classifier.h"
#include "analyzer/verdict/time_story.h"
#include "analyzer/verdict/words/sentence.h"

namespace plateau::verdict {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kMiB = 1 << 20;
constexpr double kReference = 1000 * kMiB;

// The table of docs/verdicts.md.
int PlaceInDocs(VerdictKind kind, bool grows) {
  const std::string name(VerdictName(kind));
  const std::vector<std::vector<std::string>> places = {{"leak", "slow_leak", "staircase"},
                                                        {"unbounded_growth"},
                                                        {"inconclusive, growing"},
                                                        {"fragmentation", "untraced_growth"},
                                                        {"inconclusive, not growing"},
                                                        {"worker_duplication"},
                                                        {"warmup_in_progress"},
                                                        {"cache_fill", "warmup_complete", "spike_retained"},
                                                        {"spike_recovered"},
                                                        {"allocator_retention"},
                                                        {"steady"}};
  const std::string wanted = name != "inconclusive" ? name : name + (grows ? ", growing" : ", not growing");
  for (size_t i = 0; i < places.size(); ++i) {
    if (std::find(places[i].begin(), places[i].end(), wanted) != places[i].end()) return static_cast<int>(i);
  }
  return -1;
}

bool IsOpenKind(VerdictKind kind) {
  return kind == VerdictKind::kInconclusive || kind == VerdictKind::kUnboundedGrowth;
}

// What is wrong with a headline, in words; empty when every rule holds.
std::string Broken(const std::vector<SiteFinding>& sites, const MeasuredProcess& measured,
                   const ProcessVerdict& said) {
  const ProcessFacts& facts = measured.facts;
  const Verdict& headline = said.headline;
  const bool is_all_clear = headline.kind == VerdictKind::kSteady ||
                            headline.kind == VerdictKind::kSpikeRecovered ||
                            headline.kind == VerdictKind::kAllocatorRetention;
  const double promised = headline.detectable_bytes_per_step.value_or(0);
  double growth_of_sites = 0;
  for (const SiteFinding& site : sites) {
    const double growth = site.growth_bytes_per_step.value;
    growth_of_sites += std::max(0.0, growth);
    const bool surely = growth > 0 && site.growth_bytes_per_step.interval->low > 0;
    const bool material = site.retained_bytes > 0.02 * facts.reference_bytes;
    const bool is_open = IsOpenKind(site.verdict.kind);
    if (is_all_clear && is_open && headline.kind == VerdictKind::kSteady && growth > promised)
      return "an undecided site grows by more than was promised";
    if (is_open && surely && material &&
        HeadlineRank(headline) > PlaceInDocs(VerdictKind::kInconclusive, true))
      return "a growing undecided site lost to " + std::string(VerdictName(headline.kind));
    // Undecided, though it surely grows: lately, or over the run and lately not much less.
    const Estimate& run = site.growth_over_run_bytes_per_step;
    const double floor = site.verdict.evidence.floor_bytes_per_step;
    const bool sure_over_run =
        run.value > floor && run.interval && run.interval->low > 0 && growth >= 0.3 * run.value;
    const Reason reason = site.verdict.reason;
    const bool goes_on =
        reason != Reason::kFewSamples && reason != Reason::kLossLimited && reason != Reason::kRecentStop;
    if (facts.counts_steps && site.verdict.kind == VerdictKind::kInconclusive && goes_on && growth > floor &&
        (surely || sure_over_run) && HeadlineRank(headline) > PlaceInDocs(VerdictKind::kInconclusive, true))
      return "an undecided site that surely grows lost to " + std::string(VerdictName(headline.kind));
    if (is_all_clear && material && !is_open && site.verdict.kind != VerdictKind::kSteady &&
        site.verdict.kind != VerdictKind::kSpikeRecovered)
      return "an all-clear above something material that stays";
    const bool is_growth = site.verdict.kind == VerdictKind::kUnboundedGrowth || facts.steps < 40;
    if (is_open && surely && is_growth &&
        HeadlineRank(headline) > PlaceInDocs(VerdictKind::kInconclusive, true))
      return "growth that was seen is not the headline";
    if (IsLeak(site.verdict.kind) && !IsLeak(headline.kind)) return "a leak lost its headline";
  }
  const bool unexplained_grows = facts.unexplained.known && facts.unexplained.growth == Growth::kGrowing &&
                                 facts.unexplained.rise > 0.01 * facts.reference_bytes;
  if (headline.kind == VerdictKind::kSteady && unexplained_grows && facts.unexplained.slope.value > promised)
    return "unexplained memory grows by more than was promised";
  if (headline.kind == VerdictKind::kSteady && facts.anonymous.growth == Growth::kGrowing &&
      facts.anonymous.slope.low > promised)
    return "the process grows by more than was promised";
  if (headline.kind == VerdictKind::kSteady && facts.anonymous.growth == Growth::kGrowing &&
      promised == facts.anonymous.slope.high && facts.anonymous.late_gain > 0.01 * facts.anonymous_peak_bytes)
    return "the process grows by what matters, and that is only a larger promise";
  if (is_all_clear && facts.steps < 40) return "an all-clear after too few steps";
  if (is_all_clear && !facts.not_covered.empty()) return "an all-clear over what was not recorded";
  for (const Component& component : said.components) {
    const bool grows = component.rate_bytes_per_step && component.rate_bytes_per_step->value > 0;
    if (PlaceInDocs(component.kind, grows) < PlaceInDocs(headline.kind, IsUndecidedGrowth(headline)))
      return std::string(VerdictName(component.kind)) + " is below " +
             std::string(VerdictName(headline.kind));
  }
  Verdict worded = headline;
  Explain({.steps = facts.steps}, &worded);
  if (worded.sentence.find("No line of the program keeps it") != std::string::npos &&
      growth_of_sites >= 0.1 * facts.gap.slope.value)
    return "sites keep a tenth of what grows, and are said to keep nothing";
  if (headline.kind == VerdictKind::kFragmentation && worded.sentence.find("holds 0 B") != std::string::npos)
    return "grows, and is nothing";
  if (worded.sentence.find("Nothing stays.") != std::string::npos) {
    double kept = 0;
    for (const SiteFinding& site : sites) {
      if (RemainsKept(site.verdict.kind)) kept += site.retained_bytes;
    }
    if (kept >= 64 * 1024) return "no retention, above rows that are retained";
  }
  return "";
}

class Dice {
 public:
  explicit Dice(uint32_t seed) : engine_(seed) {}
  double Share() { return std::uniform_real_distribution<>(0, 1)(engine_); }
  bool Often(double chance) { return Share() < chance; }
  // From a millionth of `scale` to a few times as much: most are small.
  double Size(double scale) {
    return scale * std::pow(10, std::uniform_real_distribution<>(-6, 0.5)(engine_));
  }
  int Below(int n) { return std::uniform_int_distribution<>(0, n - 1)(engine_); }

 private:
  std::mt19937 engine_;
};

SiteFinding AnySite(Dice& dice) {
  constexpr VerdictKind kOfSites[] = {VerdictKind::kSteady,
                                      VerdictKind::kSteady,
                                      VerdictKind::kInconclusive,
                                      VerdictKind::kInconclusive,
                                      VerdictKind::kUnboundedGrowth,
                                      VerdictKind::kWarmupComplete,
                                      VerdictKind::kCacheFill,
                                      VerdictKind::kWarmupInProgress,
                                      VerdictKind::kSpikeRetained,
                                      VerdictKind::kSpikeRecovered,
                                      VerdictKind::kLeak,
                                      VerdictKind::kStaircase};
  SiteFinding site;
  // Leaks are rare, or there would be no other headline.
  site.verdict.kind = kOfSites[dice.Below(dice.Often(0.1) ? 12 : 10)];
  site.retained_bytes = site.verdict.kind == VerdictKind::kSteady ? 0 : dice.Size(100 * kMiB);
  site.kept_in_steps_bytes = site.retained_bytes * (1 + dice.Share());
  const double growth = dice.Often(0.3) ? 0 : dice.Size(kMiB);
  const double half = growth * 2 * dice.Share();
  site.growth_bytes_per_step = {growth, Interval{growth - half, growth + half}};
  const double over_run = growth * 3 * dice.Share();
  const double half_over_run = over_run * 2 * dice.Share();
  site.growth_over_run_bytes_per_step = {over_run,
                                         Interval{over_run - half_over_run, over_run + half_over_run}};
  if (site.verdict.kind == VerdictKind::kSteady || dice.Often(0.1))
    site.verdict.detectable_bytes_per_step = dice.Size(kMiB / 10);
  if (site.verdict.kind == VerdictKind::kInconclusive) {
    constexpr Reason kReasons[] = {Reason::kFirstPass, Reason::kRecentStop, Reason::kFewSamples,
                                   Reason::kShapesNotSeparable};
    site.verdict.reason = kReasons[dice.Below(4)];
    if (dice.Often(0.5)) site.verdict.rate_bytes_per_step = site.growth_bytes_per_step;
  }
  if (GrowsWithoutEnd(site.verdict.kind)) site.verdict.rate_bytes_per_step = site.growth_bytes_per_step;
  return site;
}

OverheadFact AnyOverhead(Dice& dice) {
  constexpr Growth kStates[] = {Growth::kFlat, Growth::kFlat, Growth::kGrowing, Growth::kStopped,
                                Growth::kSlowing};
  OverheadFact fact;
  fact.known = dice.Often(0.8);
  fact.growth = kStates[dice.Below(5)];
  fact.slope.value = dice.Size(kMiB);
  const double half = fact.slope.value * (fact.growth == Growth::kGrowing ? 0.9 : 3) * dice.Share();
  fact.slope.low = fact.slope.value - half;
  fact.slope.high = fact.slope.value + half;
  fact.bytes = dice.Often(0.1) ? 0 : dice.Size(200 * kMiB);
  fact.rise = dice.Size(200 * kMiB);
  fact.late_gain = dice.Size(200 * kMiB);
  return fact;
}

MeasuredProcess AnyProcess(Dice& dice) {
  MeasuredProcess measured;
  measured.facts.steps = dice.Often(0.2) ? dice.Below(60) : 40 + dice.Below(1000);
  measured.facts.reference_bytes = kReference;
  measured.facts.anonymous_peak_bytes = kReference * dice.Share();
  measured.facts.gap = AnyOverhead(dice);
  measured.facts.outside = AnyOverhead(dice);
  measured.facts.unexplained = AnyOverhead(dice);
  measured.facts.anonymous = AnyOverhead(dice);
  measured.facts.gap_rises = dice.Often(0.2);
  if (dice.Often(0.1)) measured.facts.not_covered.push_back("a part of it is missing");
  measured.keeps_old_peak = dice.Often(0.2);
  measured.slack_bytes = dice.Size(200 * kMiB);
  if (dice.Often(0.1)) measured.worker_growth_bytes = dice.Size(500 * kMiB);
  return measured;
}

TEST(HonestyTest, NoRandomMixBreaksARule) {
  Dice dice(20);
  std::vector<int> headlines(AllVerdicts().size());
  for (int i = 0; i < 150000; ++i) {
    std::vector<SiteFinding> sites(dice.Below(6));
    for (SiteFinding& site : sites) site = AnySite(dice);
    const MeasuredProcess measured = AnyProcess(dice);
    const ProcessVerdict said = DecideHeadline(sites, measured);
    const std::string broken = Broken(sites, measured, said);
    ASSERT_EQ(broken, "") << "mix " << i << ": " << VerdictName(said.headline.kind);
    ++headlines[static_cast<size_t>(said.headline.kind)];
  }
  // The mixes reach every headline that a process can have.
  for (const VerdictRow& row : AllVerdicts()) {
    if (row.kind == VerdictKind::kSlowLeak) continue;
    EXPECT_GT(headlines[static_cast<size_t>(row.kind)], 10) << row.name;
  }
}

TEST(HonestyTest, NoLabelledProcessBreaksARule) {
  const auto files = FindCaseFiles(std::string(PLATEAU_VECTORS) + "/process");
  ASSERT_TRUE(files.ok()) << files.status();
  for (const std::string& file : *files) {
    const auto cases = ReadCaseFile(file, {});
    ASSERT_TRUE(cases.ok()) << cases.status();
    for (const VerdictCase& one : *cases) {
      const CaseResult result = RunCase(one);
      const series::RunContext run = WithReference(one.run, one.process);
      std::vector<SiteFinding> sites;
      for (size_t i = 0; i < one.sites.size(); ++i) {
        const Estimate growth =
            result.sites[i].rate_bytes_per_step.value_or(RecentRetention(one.sites[i], result.sites[i]));
        sites.push_back(FindingOf(one.sites[i], result.sites[i], growth));
        if (!sites.back().growth_bytes_per_step.interval)
          sites.back().growth_bytes_per_step.interval = Interval{growth.value, growth.value};
      }
      EXPECT_EQ(Broken(sites, MeasureProcess(one.process, run), *result.process), "") << one.id;
    }
  }
}

TEST(HonestyTest, TheTableOfTheDocsIsTheTableOfTheCode) {
  for (const VerdictRow& row : AllVerdicts()) {
    for (const bool grows : {false, true})
      EXPECT_EQ(HeadlineRank(row.kind, grows), PlaceInDocs(row.kind, grows)) << row.name;
  }
}

// A process in which nothing is wrong, and one site of which that is not known.
struct OneSite {
  std::vector<SiteFinding> sites{2};
  MeasuredProcess measured;

  OneSite() {
    measured.facts.steps = 90;
    measured.facts.reference_bytes = 250 * kMiB;
    sites[0].verdict.kind = VerdictKind::kSteady;
    sites[0].verdict.detectable_bytes_per_step = 28.8 * 1024;
    sites[1].verdict.kind = VerdictKind::kInconclusive;
    sites[1].verdict.reason = Reason::kFirstPass;
  }
  Verdict Headline() const {
    Verdict headline = DecideHeadline(sites, measured).headline;
    Explain({.steps = measured.facts.steps}, &headline);
    return headline;
  }
};

TEST(HonestyTest, AnUndecidedSiteThatGrowsFasterThanTheClaimForbidsTheAllClear) {
  OneSite run;
  run.sites[1].retained_bytes = 4 * kMiB;  // below 2 % of the peak
  run.sites[1].growth_bytes_per_step = {64 * 1024, Interval{62 * 1024, 66 * 1024}};
  EXPECT_EQ(run.Headline().kind, VerdictKind::kInconclusive);
  run.sites[1].growth_bytes_per_step = {20 * 1024, Interval{-10 * 1024, 50 * 1024}};
  const Verdict steady = run.Headline();
  EXPECT_EQ(steady.kind, VerdictKind::kSteady);
  EXPECT_THAT(steady.sentence, HasSubstr("A leak above 50.0 KiB/step would have been seen"));
}

// A trainer whose collator keeps its batches: 25 sampled records in 150 steps, below what was promised.
TEST(HonestyTest, UndecidedGrowthBelowTheClaimIsTheHeadlineWhenItIsSure) {
  OneSite run;
  run.measured.facts.steps = 150;
  run.sites[0].verdict.detectable_bytes_per_step = 24.8 * 1024;
  SiteFinding& kept = run.sites[1];
  kept.verdict.reason = Reason::kShapesNotSeparable;
  kept.verdict.evidence.floor_bytes_per_step = 7.4 * 1024;
  kept.retained_bytes = 1.7 * kMiB;
  kept.growth_bytes_per_step = {14.4 * 1024, Interval{4.2 * 1024, 24.7 * 1024}};
  EXPECT_EQ(run.Headline().kind, VerdictKind::kInconclusive);
  EXPECT_EQ(DecideHeadline(run.sites, run.measured).headline_site, 1u);
  EXPECT_THAT(run.Headline().sentence, HasSubstr("14.4 KiB/step"));
  kept.verdict.reason = Reason::kRecentStop;
  EXPECT_EQ(run.Headline().kind, VerdictKind::kSteady);
}

// Files that stay open: 14 records in 220 steps, too few in the last third of them.
TEST(HonestyTest, GrowthThatIsSureOverTheRunAndGoesOnIsTheHeadline) {
  OneSite run;
  run.measured.facts.steps = 220;
  SiteFinding& kept = run.sites[1];
  kept.verdict.reason = Reason::kShapesNotSeparable;
  kept.verdict.evidence.floor_bytes_per_step = 3.98 * 1024;
  kept.growth_bytes_per_step = {4.52 * 1024, Interval{-0.82 * 1024, 9.86 * 1024}};
  kept.growth_over_run_bytes_per_step = {4.2 * 1024, Interval{1.85 * 1024, 6.55 * 1024}};
  EXPECT_EQ(run.Headline().kind, VerdictKind::kInconclusive);
  EXPECT_THAT(run.Headline().sentence, HasSubstr("4.20 KiB/step"));
  kept.verdict.reason = Reason::kFewSamples;  // five records would say so, too
  EXPECT_EQ(run.Headline().kind, VerdictKind::kSteady);
  kept.verdict.reason = Reason::kShapesNotSeparable;
  kept.growth_over_run_bytes_per_step = {16 * 1024, Interval{10 * 1024, 22 * 1024}};  // and hardly lately
  EXPECT_EQ(run.Headline().kind, VerdictKind::kSteady);
}

TEST(HonestyTest, AnAllClearNamesTheUndecidedSiteBelowIt) {
  OneSite run;
  run.sites[1].growth_bytes_per_step = {1024, Interval{-2048, 4096}};
  EXPECT_EQ(FastestUndecided(run.sites), 1u);
  Verdict steady = DecideHeadline(run.sites, run.measured).headline;
  ASSERT_EQ(steady.kind, VerdictKind::kSteady);
  steady.evidence.undecided_site = "train.py:3 in keep";
  steady.evidence.undecided_bytes_per_step = 4096;
  Explain({.steps = run.measured.facts.steps}, &steady);
  EXPECT_THAT(steady.sentence,
              HasSubstr("Whether train.py:3 in keep grows is undecided: by 4.00 KiB/step at most."));
  run.sites[1].verdict.kind = VerdictKind::kSteady;
  EXPECT_EQ(FastestUndecided(run.sites), std::nullopt);
}

TEST(HonestyTest, WithoutStepsGrowthThatWasSeenToTheEndIsHeadlinedBelowTwoPercent) {
  OneSite run;
  run.measured.facts.counts_steps = false;
  run.sites[1].retained_bytes = 3 * kMiB;
  run.sites[1].growth_bytes_per_step = {32 * 1024, Interval{30 * 1024, 34 * 1024}};
  EXPECT_NE(run.Headline().kind, VerdictKind::kUnboundedGrowth);  // undecided
  run.sites[1].verdict.kind = VerdictKind::kUnboundedGrowth;
  run.sites[1].verdict.reason = Reason::kNone;
  EXPECT_EQ(run.Headline().kind, VerdictKind::kUnboundedGrowth);
  run.sites[1].retained_bytes = 1 * kMiB;  // 0.4 % of the peak
  EXPECT_NE(run.Headline().kind, VerdictKind::kUnboundedGrowth);
}

TEST(HonestyTest, WithoutStepsHolesOfTheFirstSecondsAreNoGrowth) {
  series::RunContext run;
  run.steps = 100;
  run.unit = series::StepUnit::kBytePart;
  run.seconds_per_step = 0.03;
  Verdict holes;
  holes.kind = VerdictKind::kUnboundedGrowth;
  holes.evidence.slack_bytes = 30 * kMiB;
  EXPECT_EQ(WithoutSteps(run, holes).kind, VerdictKind::kInconclusive);
  run.seconds_per_step = 0.5;
  EXPECT_EQ(WithoutSteps(run, holes).kind, VerdictKind::kUnboundedGrowth);
  run.seconds_per_step = 0.03;
  holes.evidence.slack_bytes.reset();  // a line that keeps
  EXPECT_EQ(WithoutSteps(run, holes).kind, VerdictKind::kUnboundedGrowth);
}

// A program that fails at an import has loaded things to its end, and there is no loop in it.
TEST(HonestyTest, WithoutALoopTwoSecondsOfWorkAreNeeded) {
  series::RunContext run;
  run.steps = 100;
  run.unit = series::StepUnit::kBytePart;
  run.seconds_per_step = 0.008;
  Verdict grows;
  grows.kind = VerdictKind::kUnboundedGrowth;
  EXPECT_EQ(WithoutSteps(run, grows).kind, VerdictKind::kUnboundedGrowth);
  run.saw_loop = false;
  EXPECT_EQ(WithoutSteps(run, grows).kind, VerdictKind::kInconclusive);
  run.unit = series::StepUnit::kTimeSlice;
  EXPECT_EQ(WithoutSteps(run, grows).kind, VerdictKind::kInconclusive);
  run.seconds_per_step = 0.03;
  EXPECT_EQ(WithoutSteps(run, grows).kind, VerdictKind::kUnboundedGrowth);
}

TEST(HonestyTest, WhatStayedIsNotCalledNoRetention) {
  OneSite run;
  run.sites[1].verdict.kind = VerdictKind::kCacheFill;
  run.sites[1].retained_bytes = 4.5 * kMiB;
  const Verdict headline = run.Headline();
  EXPECT_EQ(headline.kind, VerdictKind::kSteady);
  EXPECT_THAT(headline.sentence, Not(HasSubstr("Nothing stays.")));
  EXPECT_THAT(headline.sentence, HasSubstr("4.50 MiB stay"));
}

TEST(HonestyTest, TooShortIsTooShort) {
  OneSite run;
  run.measured.facts.steps = 39;
  const Verdict headline = run.Headline();
  EXPECT_EQ(headline.reason, Reason::kTooShort);
  EXPECT_EQ(*headline.needs_steps, 1);
}

TEST(HonestyTest, WhatGrowsIsTheHeadlineOfAShortRun) {
  OneSite run;
  run.measured.facts.steps = 12;
  run.sites[1].verdict.reason = Reason::kTooShort;
  run.sites[1].verdict.why = "it grew in all steps so far, and they are few";
  run.sites[1].retained_bytes = 384 * 1024;
  run.sites[1].growth_bytes_per_step = {32 * 1024, Interval{32 * 1024, 32 * 1024}};
  const Verdict headline = run.Headline();
  EXPECT_EQ(headline.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(headline.sentence, HasSubstr("it grew in all steps so far"));
  EXPECT_THAT(headline.sentence, HasSubstr("32.0 KiB/step"));
}

TEST(HonestyTest, WhatWasNotRecordedForbidsTheAllClear) {
  OneSite run;
  run.measured.facts.not_covered = {"3 blocks of the trace could not be read"};
  EXPECT_EQ(run.Headline().reason, Reason::kNotCovered);
  EXPECT_THAT(run.Headline().sentence, HasSubstr("3 blocks of the trace could not be read"));
}

TEST(HonestyTest, UnexplainedResidentMemoryForbidsTheAllClear) {
  OneSite run;
  run.measured.facts.unexplained = {.growth = Growth::kGrowing,
                                    .slope = {1.8 * kMiB, 1.7 * kMiB, 1.9 * kMiB, 0.05 * kMiB},
                                    .bytes = 150 * kMiB,
                                    .rise = 150 * kMiB,
                                    .known = true};
  EXPECT_EQ(run.Headline().reason, Reason::kUnexplainedGrowth);
  EXPECT_THAT(run.Headline().sentence, HasSubstr("1.80 MiB/step"));
}

// Resident growth that no site shows makes the promise smaller; where it matters, or a site grows with it, there is none.
TEST(HonestyTest, ThePromiseIsNoBetterThanTheProcess) {
  MeasuredProcess measured;
  measured.facts.steps = 300;
  measured.facts.reference_bytes = kReference;
  measured.facts.anonymous_peak_bytes = 0.4 * kReference;
  measured.facts.anonymous = {.growth = Growth::kGrowing,
                              .slope = {.value = 30 * 1024, .low = 20 * 1024, .high = 40 * 1024},
                              .late_gain = 0.009 * 0.4 * kReference,
                              .known = true};
  SiteFinding site;
  site.verdict.kind = VerdictKind::kSteady;
  site.verdict.detectable_bytes_per_step = 5 * 1024;
  const Verdict modest = DecideHeadline(std::vector<SiteFinding>{site}, measured).headline;
  EXPECT_EQ(modest.kind, VerdictKind::kSteady);
  EXPECT_EQ(modest.detectable_bytes_per_step, 40 * 1024);

  SiteFinding growing;
  growing.verdict.kind = VerdictKind::kInconclusive;
  growing.growth_bytes_per_step = {4 * 1024, Interval{1024, 7 * 1024}};
  const Verdict undecided = DecideHeadline(std::vector<SiteFinding>{site, growing}, measured).headline;
  EXPECT_EQ(undecided.kind, VerdictKind::kInconclusive);

  measured.facts.anonymous.late_gain = 0.011 * 0.4 * kReference;
  const Verdict refused = DecideHeadline(std::vector<SiteFinding>{site}, measured).headline;
  EXPECT_EQ(refused.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(refused.reason, Reason::kUnexplainedGrowth);
}

TEST(HonestyTest, BlocksThatStayAreTheHeadlineAndTheirHolesTheMechanism) {
  OneSite run;
  run.measured.facts.gap = {.growth = Growth::kGrowing,
                            .slope = {323 * 1024, 288 * 1024, 357 * 1024, 17 * 1024},
                            .bytes = 99 * kMiB,
                            .rise = 99 * kMiB,
                            .known = true};
  EXPECT_EQ(run.Headline().kind, VerdictKind::kFragmentation);
  EXPECT_THAT(run.Headline().sentence, HasSubstr("No line of the program keeps it."));
  run.sites[1].verdict.reason = Reason::kFewSamples;
  run.sites[1].kept_in_steps_bytes = 1.5 * kMiB;
  const ProcessVerdict said = DecideHeadline(run.sites, run.measured);
  EXPECT_EQ(said.headline.kind, VerdictKind::kUnboundedGrowth);
  EXPECT_EQ(said.headline_site, 1u);
  EXPECT_THAT(run.Headline().sentence, HasSubstr("blocks that stay hold the heap open"));
}

TEST(HonestyTest, HolesAroundACacheInItsFirstPassWaitForThePass) {
  OneSite run;
  run.measured.facts.gap = {.growth = Growth::kGrowing,
                            .slope = {323 * 1024, 288 * 1024, 357 * 1024, 17 * 1024},
                            .bytes = 99 * kMiB,
                            .rise = 99 * kMiB,
                            .known = true};
  run.sites[1].kept_in_steps_bytes = 1.5 * kMiB;
  run.sites[1].verdict.reason = Reason::kFirstPass;
  EXPECT_NE(DecideHeadline(run.sites, run.measured).headline.kind, VerdictKind::kUnboundedGrowth);
}

TEST(HonestyTest, OfSeveralLinesTheOneWithTheLargestHolesIsNamed) {
  const auto keeping = [](double kept, double holes, VerdictKind kind) {
    SiteFinding site;
    site.verdict.kind = kind;
    site.kept_in_steps_bytes = kept;
    site.hole_bytes = holes;
    return site;
  };
  std::vector<SiteFinding> sites = {keeping(2 * kMiB, 0, VerdictKind::kInconclusive),
                                    keeping(1 * kMiB, 0, VerdictKind::kInconclusive)};
  EXPECT_EQ(WhoPinsTheHeap(sites), 0u) << "nobody looked at the pages";
  sites[0].hole_bytes = 5 * kMiB;
  sites[1].hole_bytes = 40 * kMiB;
  EXPECT_EQ(WhoPinsTheHeap(sites), 1u);
  // What has stopped keeps most: then nobody is blamed.
  sites.push_back(keeping(30 * kMiB, 50 * kMiB, VerdictKind::kWarmupComplete));
  EXPECT_EQ(WhoPinsTheHeap(sites), std::nullopt);
}

TEST(HonestyTest, APromiseIsFinite) {
  OneSite run;
  run.measured.facts.unexplained = {.slope = {0, -INFINITY, INFINITY, INFINITY}, .known = true};
  EXPECT_EQ(run.Headline().reason, Reason::kFewSamples);
  EXPECT_THAT(run.Headline().sentence, HasSubstr("read too seldom"));
}

TEST(HonestyTest, SitesThatKeepATenthOfTheHolesAreNotSaidToKeepNothing) {
  OneSite run;
  run.measured.facts.gap = {.growth = Growth::kGrowing,
                            .slope = {100 * 1024, 90 * 1024, 110 * 1024, 5 * 1024},
                            .bytes = 99 * kMiB,
                            .known = true};
  run.sites[0].growth_bytes_per_step = {11 * 1024, Interval{-1, 23 * 1024}};
  EXPECT_EQ(run.Headline().kind, VerdictKind::kFragmentation);
  EXPECT_THAT(run.Headline().sentence, Not(HasSubstr("No line of the program keeps it")));
}

}  // namespace
}  // namespace plateau::verdict

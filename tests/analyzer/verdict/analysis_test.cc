#include "analyzer/verdict/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/analyzer/verdict/scenario.h"

namespace plateau::verdict {
namespace {

using testing::HasSubstr;

const Hypothesis& FindHypothesis(const Analysis& analysis, const std::string& name) {
  for (const Hypothesis& h : analysis.hypotheses) {
    if (h.name == name) return h;
  }
  ADD_FAILURE() << "no hypothesis " << name;
  static const Hypothesis none;
  return none;
}

TEST(AnalysisTest, HealthyRunIsSteadyAndSaysWhatItWouldHaveSeen) {
  Scenario run(200);
  run.epoch_steps = 50;
  run.AddOrdinaryTraining();
  const Analysis analysis = run.Analyse();
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kSteady) << analysis.process.headline.sentence;
  ASSERT_TRUE(analysis.process.headline.detectable_bytes_per_step.has_value());
  EXPECT_THAT(analysis.process.headline.sentence, HasSubstr("would have been seen"));
  EXPECT_EQ(analysis.hypotheses.size(), 17u);
  for (const Hypothesis& h : analysis.hypotheses) {
    EXPECT_NE(h.result, HypothesisResult::kSupported) << h.name << ": " << h.evidence;
    EXPECT_FALSE(h.evidence.empty()) << h.name;
  }
  EXPECT_TRUE(analysis.patterns.empty()) << analysis.patterns.front().pattern->id;
}

TEST(AnalysisTest, LeakBesideALargerCacheFillIsTheHeadline) {
  Scenario run(200);
  run.epoch_steps = 60;
  run.examples_per_step = 8;
  run.AddOrdinaryTraining();
  const size_t decode =
      run.AddSite({.name = "decode (data.py:41)", .frames = {"decode (data.py:41)", "__getitem__"}});
  const size_t history =
      run.AddSite({.name = "step (train.py:88)", .frames = {"append", "step (train.py:88)"}});
  for (int64_t step = 1; step <= 200; ++step) {
    for (int i = 0; i < 8 && step <= 60; ++i) run.Keep(decode, step, 20 * kMiB);
    run.Keep(history, step, 2 * kMiB);
  }
  const Analysis analysis = run.Analyse();
  EXPECT_EQ(analysis.process.headline_site, history);
  EXPECT_TRUE(IsLeak(analysis.process.headline.kind));
  EXPECT_NEAR(analysis.process.headline.rate_bytes_per_step->value, 2 * kMiB, 0.05 * kMiB);
  EXPECT_EQ(analysis.sites[decode].verdict.kind, VerdictKind::kCacheFill);
  EXPECT_NEAR(*analysis.sites[decode].verdict.evidence.per_example_bytes, 20 * kMiB, kMiB);
  ASSERT_GE(analysis.process.components.size(), 2u);
  EXPECT_EQ(FindHypothesis(analysis, "dataset loading").result, HypothesisResult::kSupported);
  EXPECT_EQ(FindHypothesis(analysis, "optimizer state").result, HypothesisResult::kRuledOut);
  EXPECT_EQ(FindHypothesis(analysis, "page cache").result, HypothesisResult::kRuledOut);
  EXPECT_EQ(FindHypothesis(analysis, "pinned memory").result, HypothesisResult::kNotTestable);
}

TEST(AnalysisTest, LedgerAddsUpAtEverySample) {
  Scenario run(100);
  run.AddOrdinaryTraining();
  run.allocator_slack = [](int64_t step) { return 3.0 * kMiB * static_cast<double>(step); };
  const Analysis analysis = run.Analyse();
  ASSERT_EQ(analysis.ledger.size(), 101u);
  for (const series::LedgerParts& parts : analysis.ledger) EXPECT_NEAR(parts.sum(), parts.rss, 1);
}

TEST(AnalysisTest, GrowthOutsideTheSitesIsNeverBlamedOnOne) {
  Scenario run(200);
  run.epoch_steps = 50;
  run.AddOrdinaryTraining();
  run.file_bytes = [](int64_t step) { return 50 * kMiB + 10 * kMiB * static_cast<double>(step); };
  const Analysis analysis = run.Analyse();
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kUntracedGrowth);
  EXPECT_FALSE(analysis.process.headline_site.has_value());
  EXPECT_EQ(analysis.process.headline.evidence.untraced_kind, "file");
  EXPECT_THAT(analysis.process.headline.sentence, HasSubstr("reclaim"));
  EXPECT_NEAR(analysis.process.headline.rate_bytes_per_step->value, 10 * kMiB, kMiB);
}

TEST(AnalysisTest, UndecidedFirstPassGivesBothForecastsAndTheStepsThatDecide) {
  Scenario run(80);
  run.epoch_steps = 100;
  run.examples_per_step = 8;
  run.input.run.limit_bytes = 32 * kGiB;
  run.AddOrdinaryTraining();
  const size_t decode = run.AddSite({.name = "decode (data.py:41)", .frames = {"decode", "pil"}});
  for (int64_t step = 1; step <= 80; ++step) {
    for (int i = 0; i < 8; ++i) run.Keep(decode, step, 20 * kMiB);
  }
  const Analysis analysis = run.Analyse();
  const Verdict& headline = analysis.process.headline;
  EXPECT_EQ(headline.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(headline.reason, Reason::kFirstPass);
  ASSERT_TRUE(headline.forecast.if_cache && headline.forecast.if_leak);
  EXPECT_NEAR(headline.plateau_bytes->value, 16000 * kMiB, 400 * kMiB);
  EXPECT_NEAR(*headline.needs_steps, 100 + 1 + 5 + 1 - 80, 2);
  EXPECT_EQ(headline.forecast.outcome, Outcome::kOomOnlyIfLeak);
}

TEST(AnalysisTest, SlowLeakUnderHeavyChurnIsFound) {
  Scenario run(600);
  run.epoch_steps = 100;
  run.AddOrdinaryTraining(kGiB, 300 * kMiB);
  const size_t site = run.AddSite({.name = "mixed (train.py:5)", .frames = {"mixed"}});
  for (int64_t step = 1; step <= 600; ++step) {
    run.Churn(site, step, 300 * kMiB, step % 3);
    run.Keep(site, step, 100e3);
  }
  const Analysis analysis = run.Analyse();
  EXPECT_TRUE(IsLeak(analysis.sites[site].verdict.kind)) << analysis.sites[site].verdict.sentence;
  EXPECT_NEAR(analysis.sites[site].verdict.rate_bytes_per_step->value, 100e3, 3e3);
}

TEST(AnalysisTest, LargeMachineDoesNotHideALeak) {
  Scenario run(200);
  run.epoch_steps = 50;
  run.input.run.limit_bytes = 512 * kGiB;
  run.AddOrdinaryTraining(kGiB, 300 * kMiB);
  const size_t site = run.AddSite({.name = "keep (train.py:5)", .frames = {"keep"}});
  for (int64_t step = 1; step <= 200; ++step) run.Keep(site, step, 100e3);
  const Analysis analysis = run.Analyse();
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kSlowLeak);
  EXPECT_EQ(analysis.process.headline_site, site);
  EXPECT_TRUE(analysis.process.headline.forecast.if_leak->oom_step.has_value());
}

TEST(AnalysisTest, TouchingAReservedBufferIsNotGrowthOutsideTheAllocator) {
  Scenario run(200);
  run.epoch_steps = 50;
  run.AddOrdinaryTraining(4 * kGiB, 100 * kMiB);
  run.Analyse();
  for (size_t i = 0; i < run.input.ledger.size(); ++i) {  // the model's pages are touched little by little
    series::LedgerSample& sample = run.input.ledger[i];
    sample.rss_anon = 600 * kMiB + 10 * kMiB * static_cast<double>(i);
    sample.rss_file = 0;
  }
  const Analysis analysis = RunAnalysis(run.input);
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kSteady) << analysis.process.headline.sentence;
}

TEST(AnalysisTest, ReadingsOfTheTeardownAreNotJudged) {
  Scenario run(200);
  run.epoch_steps = 50;
  run.AddOrdinaryTraining();
  run.Analyse();
  for (double step : {200.0, 201.0}) {  // freed at exit, the pages still resident
    series::LedgerSample sample = run.input.ledger.back();
    sample.step = step;
    sample.live = sample.allocator_held = 10 * kMiB;
    run.input.ledger.push_back(sample);
  }
  EXPECT_EQ(RunAnalysis(run.input).process.headline.kind, VerdictKind::kSteady);
}

TEST(AnalysisTest, LongRunIsJudgedInBucketsAndAnsweredInSteps) {
  Scenario run(4000);
  run.epoch_steps = 1000;
  run.AddOrdinaryTraining(kGiB, 10 * kMiB);
  const size_t leak = run.AddSite({.name = "leak (a.py:1)", .frames = {"leak"}});
  const size_t late = run.AddSite({.name = "late (a.py:2)", .frames = {"late"}});
  const size_t fill = run.AddSite({.name = "decode (a.py:3)", .frames = {"decode"}});
  for (int64_t step = 1; step <= 4000; ++step) {
    run.Keep(leak, step, 1 * kMiB);
    if (step > 2000) run.Keep(late, step, 1 * kMiB);
    if (step <= 1000) run.Keep(fill, step, 1 * kMiB);
  }
  Analysis analysis = run.Analyse();
  EXPECT_EQ(run.input.site_bucket_steps, 4);
  EXPECT_TRUE(IsLeak(analysis.sites[leak].verdict.kind));
  EXPECT_NEAR(analysis.sites[leak].verdict.rate_bytes_per_step->value, kMiB, 0.02 * kMiB);
  EXPECT_TRUE(IsLeak(analysis.sites[late].verdict.kind));
  EXPECT_NEAR(*analysis.sites[late].verdict.onset_step, 2001, 120);
  EXPECT_EQ(analysis.sites[fill].verdict.kind, VerdictKind::kCacheFill) << analysis.sites[fill].verdict.why;
  EXPECT_NEAR(*analysis.sites[fill].verdict.by_step, 1000, 40);
}

TEST(AnalysisTest, SamplingWidensTheInterval) {
  const auto interval = [](double weight) {
    series::SeriesAccumulator series;
    for (int64_t step = 1; step <= 200; ++step) {
      // The same expected bytes, from few heavy or from many light records.
      for (int i = 0; i < 64 / weight; ++i) series.OnAlloc(0, 1024, weight, step);
    }
    series.Finish(200);
    AnalysisInput input;
    input.run.steps = 200;
    input.run.epoch_steps = 40;
    input.run.reference_bytes = kGiB;
    input.sites = &series;
    const Analysis analysis = RunAnalysis(input);
    EXPECT_TRUE(IsLeak(analysis.sites[0].verdict.kind));
    const Estimate rate = *analysis.sites[0].verdict.rate_bytes_per_step;
    EXPECT_DOUBLE_EQ(rate.value, 64 * 1024);
    return rate.interval->high - rate.interval->low;
  };
  EXPECT_EQ(interval(1), 0) << "exact and constant";
  EXPECT_GT(interval(32), 0);
  EXPECT_NEAR(interval(64) / interval(16), std::sqrt(63.0 / 15.0), 0.05);
}

TEST(AnalysisTest, OneHeavySampleDoesNotHideACacheFill) {
  series::SeriesAccumulator series;
  for (int64_t step = 1; step <= 200; ++step) {
    if (step <= 100) series.OnAlloc(0, 400 * 1024, 1, step);  // an image, recorded exactly
    if (step == 20) series.OnAlloc(0, 64, 8192, step);        // one small block that stands for 8192
  }
  series.Finish(200);
  AnalysisInput input;
  input.run.steps = 200;
  input.run.epoch_steps = 100;
  input.run.reference_bytes = 300 * kMiB;
  input.run.sample_interval_bytes = 512 * 1024;
  input.sites = &series;
  const Analysis analysis = RunAnalysis(input);
  EXPECT_EQ(analysis.sites[0].verdict.kind, VerdictKind::kCacheFill) << analysis.sites[0].verdict.why;
}

TEST(AnalysisTest, FragmentationShowsEvenIfTheAllocatorIsRarelyAsked) {
  Scenario run(200);
  run.epoch_steps = 50;
  run.AddOrdinaryTraining();
  run.allocator_slack = [](int64_t step) { return 300 * kMiB + 12 * kMiB * static_cast<double>(step); };
  run.Analyse();
  for (size_t i = 0; i < run.input.ledger.size(); ++i) {
    if (i % 100 != 2) run.input.ledger[i].allocator_held = 0;
  }
  EXPECT_EQ(RunAnalysis(run.input).process.headline.kind, VerdictKind::kFragmentation);
}

TEST(AnalysisTest, DevicePoolHasItsOwnVerdict) {
  Scenario run(200);
  run.epoch_steps = 50;
  run.AddOrdinaryTraining();
  const size_t tensor =
      run.AddSite({.name = "loss (train.py:3)", .pool = "device 0", .frames = {"aten::add"}});
  PoolCurve device{.name = "device 0"};
  for (int64_t step = 0; step <= 200; ++step) {
    if (step > 0) run.Keep(tensor, step, 4 * kMiB);
    device.step.push_back(static_cast<double>(step));
    device.live.push_back(4 * kMiB * static_cast<double>(step));
    device.reserved.push_back(4 * kMiB * static_cast<double>(step) + 20 * kMiB);
  }
  device.limit_bytes = 8 * kGiB;
  run.input.pools = {device};
  const Analysis analysis = run.Analyse();
  ASSERT_EQ(analysis.pools.size(), 2u);
  EXPECT_EQ(analysis.pools[0].name, "host");
  EXPECT_EQ(analysis.pools[1].verdict.kind, VerdictKind::kLeak);
  EXPECT_NEAR(*analysis.pools[1].verdict.forecast.if_leak->oom_step, 2043, 30);
  EXPECT_EQ(analysis.process.headline_site, tensor) << "the worse pool is the headline";
}

TEST(AnalysisTest, SmallObjectsBesideLargeOnesDoNotMakeALargeLeakDetectable) {
  Scenario run(150);
  run.epoch_steps = 50;
  const size_t site = run.AddSite({.name = "process (train.py:29)", .frames = {"process"}});
  for (int64_t step = 1; step <= 150; ++step) {
    run.Churn(site, step, 300 * kMiB, 1);
    for (int i = 0; i < 100; ++i) run.Churn(site, step, 64, 0);
  }
  // One of the large blocks in thirty steps would be 10 MiB a step, and too rare to be told from chance.
  const Analysis analysis = run.Analyse();
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kSteady);
  EXPECT_GE(*analysis.process.headline.detectable_bytes_per_step, 9 * kMiB);
}

TEST(AnalysisTest, NothingAtAllIsAnsweredToo) {
  const Analysis analysis = RunAnalysis({});
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(analysis.process.headline.reason, Reason::kTooShort);
  EXPECT_EQ(analysis.hypotheses.size(), 17u);
}

TEST(AnalysisTest, MostSevereProcessIsTheHeadline) {
  ProcessVerdict steady, leak, undecided;
  steady.headline.kind = VerdictKind::kSteady;
  leak.headline.kind = VerdictKind::kSlowLeak;
  undecided.headline.kind = VerdictKind::kInconclusive;
  EXPECT_EQ(HeadlineProcess({{&steady, 100, 1e6}, {&undecided, 100, 1e6}, {&leak, 100, 1e6}}), 2u);
  EXPECT_EQ(HeadlineProcess({{&steady, 100, 1e6}, {&steady, 100, 1e6}}), 0u);
  // A launcher says nothing about the training it started, however little can be said of the launcher.
  EXPECT_EQ(HeadlineProcess({{&undecided, 0, 1e5}, {&steady, 100, 1e9}}), 1u);
  EXPECT_EQ(HeadlineProcess({{&steady, 0, 1e5}, {&steady, 0, 1e9}}), 1u);
  EXPECT_EQ(HeadlineProcess({{&steady, 10, 1e9}, {&steady, 100, 1e9}}), 1u);
  // A worker that grows without bound does count, unless it is small.
  EXPECT_EQ(HeadlineProcess({{&steady, 100, 1e9}, {&leak, 0, 5e8}}), 1u);
  EXPECT_EQ(HeadlineProcess({{&steady, 100, 1e9}, {&leak, 0, 1e6}}), 0u);
  // A worker of the training: its leak counts however small, anything else when it is not small.
  EXPECT_EQ(HeadlineProcess({{&steady, 100, 1e9}, {&leak, 100, 1e6, true}}), 1u);
  EXPECT_EQ(HeadlineProcess({{&steady, 100, 1e9}, {&undecided, 100, 1e6, true}}), 0u);
  EXPECT_EQ(HeadlineProcess({{&steady, 100, 1e9}, {&undecided, 100, 5e8, true}}), 1u);
}

TEST(AnalysisTest, AWorkerThatIsStartedAnewEachEpochIsNotTheHeadlineWhileItKeepsWhatOthersTookWithThem) {
  ProcessVerdict steady, undecided;
  steady.headline.kind = VerdictKind::kSteady;
  undecided.headline.kind = VerdictKind::kInconclusive;
  undecided.components.push_back({.kind = VerdictKind::kInconclusive, .bytes = 1000});
  ProcessWeight worker{&undecided, 100, 5e8, true};
  const ProcessWeight trainer{&steady, 100, 1e9};
  EXPECT_EQ(HeadlineProcess({trainer, worker}), 1u);
  worker.predecessor_kept_bytes = 500;  // the first pass of a longer epoch, or another loader's workers
  EXPECT_EQ(HeadlineProcess({trainer, worker}), 1u);
  worker.predecessor_kept_bytes = 950;
  EXPECT_EQ(HeadlineProcess({trainer, worker}), 0u);
  undecided.headline.kind = VerdictKind::kLeak;  // decided growth is told whatever comes after it
  EXPECT_EQ(HeadlineProcess({trainer, worker}), 1u);
}

TEST(AnalysisTest, WhatImportsTookIsNoCause) {
  const auto analyse = [](bool is_import) {
    Scenario run(200);
    run.AddOrdinaryTraining();
    const size_t site = run.AddSite({.name = "<module> (worker.py:1)", .frames = {"<module> (worker.py:1)"}});
    run.input.site_info[site].is_import = is_import;
    for (int64_t step = 1; step <= 20; ++step) run.Keep(site, step, 20 * kMiB);
    return run.Analyse().process;
  };
  EXPECT_EQ(analyse(false).headline.kind, VerdictKind::kWarmupComplete);
  const ProcessVerdict imports = analyse(true);
  EXPECT_EQ(imports.headline.kind, VerdictKind::kSteady) << imports.headline.sentence;
  EXPECT_FALSE(imports.headline_site.has_value());
}

TEST(AnalysisTest, ALineThatLoadsCodeAtEachStepIsALeakAllTheSame) {
  Scenario run(200);
  run.epoch_steps = 50;
  run.AddOrdinaryTraining();
  const size_t site = run.AddSite({.name = "reload (plugins.py:9)", .frames = {"reload (plugins.py:9)"}});
  run.input.site_info[site].is_import = true;
  for (int64_t step = 1; step <= 200; ++step) run.Keep(site, step, 2 * kMiB);
  const Analysis analysis = run.Analyse();
  EXPECT_TRUE(IsLeak(analysis.process.headline.kind));
  EXPECT_EQ(analysis.process.headline_site, site);
}

TEST(AnalysisTest, CachesOfSmallWorkersCountByWhatTheyKeepTogether) {
  ProcessVerdict steady, fill;
  steady.headline.kind = VerdictKind::kSteady;
  fill.headline.kind = VerdictKind::kCacheFill;
  fill.components.push_back({.kind = VerdictKind::kCacheFill, .bytes = 15e6});
  // Two workers with 15 MB each beside 1 GB: neither is a tenth of it, and both together are more than 2 %.
  EXPECT_EQ(HeadlineProcess({{&steady, 100, 1e9}, {&fill, 100, 2e7, true}, {&fill, 100, 2.1e7, true}}), 2u);
  EXPECT_EQ(HeadlineProcess({{&steady, 100, 1e9}, {&fill, 100, 2e7, true}}), 0u);
  // Those that ended before the training did keep nothing.
  EXPECT_EQ(HeadlineProcess({{&steady, 100, 1e9}, {&fill, 0, 2e7, true}, {&fill, 0, 2e7, true}}), 0u);
}

TEST(AnalysisTest, AHelperThatIsGoneSaysNothingOfTheRecording) {
  ProcessVerdict steady, grows;
  steady.headline.kind = VerdictKind::kSteady;
  grows.headline.kind = VerdictKind::kUnboundedGrowth;
  const ProcessWeight training{&steady, 100, 1e9, false, 0, 90};
  // A compiler that ran beside the training, and one that ran to its end.
  EXPECT_EQ(HeadlineProcess({training, {&grows, 0, 5e8, false, 5, 60}}), 0u);
  EXPECT_EQ(HeadlineProcess({training, {&grows, 0, 5e8, false, 5, 89}}), 1u);
  // Without a training: what was there for most of the time counts, and what came and went does not.
  EXPECT_EQ(HeadlineProcess({{&steady, 0, 1e8, false, 0, 90}, {&grows, 0, 5e8, false, 5, 30}}), 0u);
  EXPECT_EQ(HeadlineProcess({{&steady, 0, 1e8, false, 80, 90}, {&grows, 0, 5e8, false, 0, 78}}), 1u);
  // A wrapper that became the program.
  ProcessWeight wrapper{&grows, 0, 5e8, false, 0, 40};
  wrapper.was_replaced = true;
  EXPECT_EQ(HeadlineProcess({wrapper, {&steady, 0, 1e8, false, 40, 70}}), 1u);
}

TEST(AnalysisTest, ThreadsThatPileUpExplainMemoryThatNothingElseExplains) {
  const auto analyse = [](double threads_a_step) {
    Scenario run(200);
    run.AddOrdinaryTraining();
    run.Keep(run.AddSite({.name = "serve (train.py:47)", .frames = {"pthread_create"}}), 1, kMiB / 16);
    run.input.started_threads = {{"serve (train.py:47)", 190}};
    run.counts.push_back({&series::LedgerSample::threads,
                          [=](int64_t step) { return 4 + threads_a_step * static_cast<double>(step); }});
    run.counts.push_back({&series::LedgerSample::rss_anon,
                          [](int64_t step) { return 2048.0 * kMiB + static_cast<double>(step) * kMiB; }});
    return run.Analyse().process;
  };
  const ProcessVerdict open = analyse(0);
  ASSERT_EQ(open.headline.kind, VerdictKind::kUntracedGrowth) << open.headline.sentence;
  const ProcessVerdict threads = analyse(1);
  EXPECT_EQ(threads.headline.kind, VerdictKind::kUnboundedGrowth);
  EXPECT_TRUE(threads.headline_site.has_value());
  EXPECT_THAT(threads.headline.sentence,
              testing::HasSubstr(
                  "threads rose from 10 to 200, 1 a step, most of them started at serve (train.py:47)"));
}

// 25 of the blocks that stay are seen, which is too few. That the files stay open is known.
TEST(AnalysisTest, OpenFilesThatPileUpDecideTheLineThatOpensThem) {
  const auto analyse = [](bool piles_up, const char* frame) {
    Scenario run(200);
    run.AddOrdinaryTraining();
    const size_t site =
        run.AddSite({.name = "log (train.py:9)", .frames = {"malloc", frame, "log train.py"}});
    run.input.run.has_no_pass = true;
    for (int64_t step = 1; step <= 200; ++step) {
      if (step * step * step % 101 < 13) run.Keep(site, step, kMiB);  // 25 of them, at no equal distances
    }
    run.counts.push_back({&series::LedgerSample::open_files,
                          [=](int64_t step) { return piles_up ? 5 + static_cast<double>(step) : 9.0; }});
    return run.Analyse();
  };
  const Analysis closed = analyse(false, "_io_open_impl");
  ASSERT_NE(closed.process.headline.kind, VerdictKind::kUnboundedGrowth) << closed.process.headline.sentence;
  EXPECT_NE(analyse(true, "np.zeros").process.headline.kind, VerdictKind::kUnboundedGrowth);
  const Analysis open = analyse(true, "_io_open_impl");
  EXPECT_EQ(open.process.headline.kind, VerdictKind::kUnboundedGrowth) << open.process.headline.sentence;
  EXPECT_THAT(open.process.headline.why, testing::HasSubstr("open files rose from"));
}

TEST(AnalysisTest, ReadingsOfTheExitAreNotJudged) {
  Scenario run(200);
  run.epoch_steps = 50;
  run.AddOrdinaryTraining();
  run.Analyse();
  // What the program takes while it ends, in the last step's bucket.
  for (int i = 0; i < 300; ++i) {
    series::LedgerSample sample = run.input.ledger.back();
    sample.rss_anon += 4 * kMiB;
    sample.is_of_exit = true;
    run.input.ledger.push_back(sample);
  }
  const Analysis analysis = RunAnalysis(run.input);
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kSteady) << analysis.process.headline.sentence;
  for (series::LedgerSample& sample : run.input.ledger) sample.is_of_exit = false;
  const Analysis judged = RunAnalysis(run.input);
  EXPECT_NE(judged.process.resident.value, analysis.process.resident.value);
}

// The same straight growth, judged with and without what is known of its blocks.
TEST(AnalysisTest, PagesOfOneReservationAreAFillThatEndsAtItsSize) {
  series::SeriesAccumulator accumulator;
  accumulator.OnAlloc(0, 1 << 20, 1, 0);
  for (int step = 1; step <= 200; ++step) accumulator.OnGrow(0, 1 << 20, 1, step);
  accumulator.Finish(200);
  AnalysisInput input;
  input.run.steps = 200;
  input.run.epoch_steps = 50;
  input.sites = &accumulator;
  input.site_info.resize(1);
  EXPECT_EQ(RunAnalysis(input).sites[0].verdict.kind, VerdictKind::kLeak);

  const double grown = 200 << 20;
  input.reservations = {{.reserved_bytes = 800 << 20,
                         .resident_bytes = grown + (1 << 20),
                         .arrived_bytes = grown,
                         .grown_bytes = grown}};
  const Analysis filled = RunAnalysis(input);
  const Verdict& fill = filled.sites[0].verdict;
  EXPECT_EQ(fill.kind, VerdictKind::kWarmupInProgress);
  EXPECT_EQ(fill.plateau_bytes->value, 800 << 20);
  EXPECT_NEAR(fill.knee_step->value, 799, 40);
  EXPECT_NE(fill.sentence.find("It ends at 800 MiB"), std::string::npos) << fill.sentence;
  EXPECT_EQ(filled.process.headline.kind, VerdictKind::kWarmupInProgress);

  input.reservations[0].unbounded_bytes = grown;  // a library's allocator, which maps more when this is full
  EXPECT_EQ(RunAnalysis(input).process.headline.kind, VerdictKind::kUnboundedGrowth);
  input.run.epoch_steps.reset();
  const Analysis arena = RunAnalysis(input);
  EXPECT_EQ(arena.process.headline.kind, VerdictKind::kUnboundedGrowth);
  EXPECT_EQ(arena.process.headline_site, 0u);
  EXPECT_NE(arena.process.headline.sentence.find("a library brought along"), std::string::npos);
}

}  // namespace
}  // namespace plateau::verdict

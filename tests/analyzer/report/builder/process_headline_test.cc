#include "analyzer/report/builder/process_headline.h"

#include <gtest/gtest.h>

#include <vector>

namespace plateau::report {
namespace {

ProcessHeadline Of(int64_t steps, bool is_worker = false) {
  ProcessHeadline headline;
  headline.steps.count = steps;
  headline.is_worker = is_worker;
  return headline;
}

TEST(ProcessHeadlineTest, TheProcessOfTheVerdictGivesTheTitleAndNotItsLauncher) {
  const std::vector<ProcessHeadline> shell_and_trainer = {Of(0), Of(400)};
  EXPECT_EQ(TitleProcess(shell_and_trainer, 1), 1u);
}

TEST(ProcessHeadlineTest, AnAllClearNamesWhatTheWorkersKeep) {
  std::vector<ProcessHeadline> job = {Of(400), Of(400, true), Of(400, true)};
  job[0].verdict.headline.kind = verdict::VerdictKind::kSteady;
  job[0].words.sentence = "A smaller leak would not have been seen.";
  for (int worker : {1, 2}) {
    job[worker].verdict.headline.kind = verdict::VerdictKind::kCacheFill;
    job[worker].verdict.components.push_back({.kind = verdict::VerdictKind::kCacheFill, .bytes = 1 << 20});
    job[worker].site = "data.py:7 in load";
  }
  NameWhatWorkersKeep(job, &job[0]);
  EXPECT_EQ(job[0].words.sentence,
            "A smaller leak would not have been seen. "
            "Its 2 workers keep 2.00 MiB, most of it at data.py:7 in load (cache fill).");
}

TEST(ProcessHeadlineTest, WhatWorkersOfAnEarlierEpochKeptIsSaidToBeGone) {
  std::vector<ProcessHeadline> job = {Of(400), Of(400, true), Of(400, true)};
  job[0].verdict.headline.kind = verdict::VerdictKind::kSteady;
  for (int worker : {1, 2}) {
    job[worker].header.parent_pid = 7;
    job[worker].verdict.headline.kind = verdict::VerdictKind::kInconclusive;
    job[worker].verdict.components.push_back(
        {.kind = verdict::VerdictKind::kInconclusive, .bytes = worker * double{1 << 20}});
    job[worker].site = "data.py:7 in load";
  }
  job[1].ended_before_parent = true;
  job[1].end_seconds = 2;
  job[2].begin_seconds = 3;
  job[2].end_seconds = 5;
  NameWhatWorkersKeep(job, &job[0]);
  EXPECT_EQ(job[0].words.sentence,
            "A worker keeps 2.00 MiB, most of it at data.py:7 in load (inconclusive). "
            "A worker before it kept up to 1.00 MiB and gave it back when it ended.");
}

// A worker that has a framework in memory is steady all the same, and what it keeps may be much for the job.
TEST(ProcessHeadlineTest, AnAllClearNamesWhatSteadyWorkersKeepToo) {
  std::vector<ProcessHeadline> job = {Of(400), Of(400, true), Of(400, true)};
  for (ProcessHeadline& process : job) process.verdict.headline.kind = verdict::VerdictKind::kSteady;
  job[0].words.sentence = "Nothing grows.";
  job[1].verdict.headline.evidence.retained_bytes = 1 << 20;
  job[2].verdict.headline.evidence.retained_bytes = 3 << 20;
  job[2].verdict.headline.evidence.largest_kept = "data.py:7 in load (warmup complete)";
  NameWhatWorkersKeep(job, &job[0]);
  EXPECT_EQ(job[0].words.sentence,
            "Nothing grows. Its 2 workers keep 4.00 MiB, most of it at data.py:7 in load (warmup complete).");
}

TEST(ProcessHeadlineTest, AWorkerIsTitledByTheProcessThatItServes) {
  const std::vector<ProcessHeadline> job = {Of(0), Of(400), Of(400, true), Of(400, true)};
  EXPECT_EQ(TitleProcess(job, 3), 1u);
}

TEST(ProcessHeadlineTest, AWorkerWithoutATrainerIsTitledByTheFirstProcess) {
  EXPECT_EQ(TitleProcess({Of(0), Of(20, true)}, 1), 0u);
}

TEST(ProcessHeadlineTest, AWorkersHeadlineBeginsWithWhereItIs) {
  ProcessHeadline worker = Of(20, true);
  worker.site = "Data.py:5 in Load";
  worker.words.summary = "Data.py:5 in Load keeps 1.00 MiB every step";
  SayInAWorker(&worker);
  EXPECT_EQ(worker.words.summary, "In a worker, Data.py:5 in Load keeps 1.00 MiB every step");
  worker.site = "";
  worker.words.summary = "Nothing grows";
  SayInAWorker(&worker);
  EXPECT_EQ(worker.words.summary, "In a worker, nothing grows");
}

TEST(ProcessHeadlineTest, WorkersOfOneTrainerThatGrowAtOneLineAreCounted) {
  std::vector<ProcessHeadline> headlines = {Of(200), Of(20, true), Of(20, true)};
  for (size_t i = 1; i < headlines.size(); ++i) {
    headlines[i].verdict.headline.kind = verdict::VerdictKind::kLeak;
    headlines[i].verdict.headline.rate_bytes_per_step = verdict::Estimate{1000.0, {}};
    headlines[i].site = "data.py:5 in load";
    headlines[i].header.pid = static_cast<uint32_t>(100 + i);
  }
  EXPECT_EQ(WhoElseGrows(headlines, 1),
            "2 of 3 processes grow at this line, together 2.0 times as much; the rate and the forecast are "
            "those of process 101 alone.");
}

TEST(ProcessHeadlineTest, WorkersOfAServerThatGrowAtOneLineAreCounted) {
  std::vector<ProcessHeadline> server = {Of(0), Of(200), Of(200), Of(200)};
  for (size_t i = 1; i < server.size(); ++i) {
    server[i].verdict.headline.kind = verdict::VerdictKind::kUnboundedGrowth;
    server[i].site = "handle at serve.py:5";
    server[i].header.pid = static_cast<uint32_t>(100 + i);
  }
  EXPECT_EQ(WhoElseGrows(server, 2),
            "3 of 4 processes grow at this line; the rate and the forecast are those of process 102 alone.");
  for (size_t i = 1; i < server.size(); ++i)
    server[i].verdict.headline.rate_bytes_per_step = verdict::Estimate{1000.0 * static_cast<double>(i), {}};
  EXPECT_EQ(WhoElseGrows(server, 2),
            "3 of 4 processes grow at this line, together 3.0 times as much; the rate and the forecast are "
            "those of "
            "process 102 alone.");
  server[1].site = server[3].site = "log at serve.py:9";
  EXPECT_EQ(WhoElseGrows(server, 2), "");
  server[2].verdict.headline.kind = verdict::VerdictKind::kSteady;
  EXPECT_EQ(WhoElseGrows(server, 2), "");
}

}  // namespace
}  // namespace plateau::report

// Each pattern on a healthy or a different run that looks like it: the words are there, the evidence is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "analyzer/verdict/patterns.h"
#include "tests/analyzer/verdict/scenario.h"

namespace plateau::verdict {
namespace {

constexpr int64_t kSteps = 240;

class SilentPatternsTest : public testing::Test {
 protected:
  SilentPatternsTest() : run(kSteps) {
    run.epoch_steps = 60;
    run.examples_per_step = 8;
    run.input.has_python = true;
    run.AddOrdinaryTraining();
  }

  std::set<std::string> Matched() {
    analysis = run.Analyse();
    std::set<std::string> ids;
    for (const PatternMatch& match : analysis.patterns) ids.insert(match.pattern->id);
    return ids;
  }
  void ChurnWithin(size_t site, double bytes) {
    for (int64_t step = 1; step <= kSteps; ++step) run.Churn(site, step, bytes, 0);
  }
  void KeepEachStep(size_t site, double bytes) {
    for (int64_t step = 1; step <= kSteps; ++step) run.Keep(site, step, bytes);
  }
  series::WorkerSeries Worker(int pid, uint64_t begin, uint64_t end, double copied) {
    series::WorkerSeries worker{.pid = pid, .shared_at_fork_bytes = 500 * kMiB};
    worker.begin_time = begin;
    worker.end_time = end;
    worker.private_bytes = {0, copied};
    worker.live_bytes = {0, 0};
    return worker;
  }

  Scenario run;
  Analysis analysis;
};

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

TEST_F(SilentPatternsTest, K01WorkersOneAfterTheOther) {
  for (int i = 0; i < 60; ++i)
    run.input.workers.push_back(Worker(100 + i, 1 + 10 * i, 10 + 10 * i, 4 * kMiB));
  EXPECT_THAT(Matched(), Not(Contains("K01")));
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kSteady);
}

TEST_F(SilentPatternsTest, K01WhatAnInterpreterRewritesByItself) {
  const size_t import = run.AddSite({.name = "train.py:1", .frames = {"import torch"}, .is_import = true});
  run.Keep(import, 0, 500 * kMiB);
  for (int i = 0; i < 8; ++i) run.input.workers.push_back(Worker(100 + i, 1, 100, 30 * kMiB));
  run.input.copy_on_write.sites = {{.site = import, .bytes = 235 * kMiB}};
  run.input.copy_on_write.without_block = 5 * kMiB;
  EXPECT_THAT(Matched(), Not(Contains("K01")));
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kSteady);
}

TEST_F(SilentPatternsTest, K02WorkersThatGrowAtNoEpoch) {
  run.input.processes = {{.pid = 7, .role = "dataloader worker", .heap_growth_bytes = 900 * kMiB}};
  EXPECT_THAT(Matched(), IsEmpty());
}

TEST_F(SilentPatternsTest, K03AndK04PinnedBuffersOfTheRightSize) {
  PoolCurve pool{.name = "pinned"};
  for (int64_t step = 0; step <= kSteps; ++step) {
    pool.step.push_back(static_cast<double>(step));
    pool.live.push_back(600 * kMiB);
    pool.reserved.push_back(600 * kMiB);
  }
  run.input.pools = {pool};
  EXPECT_THAT(Matched(), IsEmpty());
}

TEST_F(SilentPatternsTest, K05PredictionsThatAreDroppedAtOnce) {
  ChurnWithin(run.AddSite({.name = "evaluate (train.py:9)", .frames = {"predict", "evaluation_loop"}}), kMiB);
  EXPECT_THAT(Matched(), Not(Contains("K05")));
}

// A tensor that compiled code made is kept: files of autograd are on the way to every such tensor.
TEST_F(SilentPatternsTest, K06NeedsAGraph) {
  KeepEachStep(run.AddSite({.name = "st (train.py:60)",
                            .frames = {"empty_strided_cpu", "call /tmp/torchinductor_me/ab/cab.py",
                                       "forward torch/_functorch/_aot_autograd/runtime_wrappers.py",
                                       "apply torch/autograd/function.py", "st train.py"}}),
               600 * 1024);
  EXPECT_THAT(Matched(), Not(Contains("K06")));
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kLeak);
}

TEST_F(SilentPatternsTest, K07MetricsThatAreReducedToNumbers) {
  ChurnWithin(run.AddSite({.name = "update (metrics.py:30)", .frames = {"metric", "history"}}), kMiB);
  EXPECT_THAT(Matched(), Not(Contains("K07")));
}

TEST_F(SilentPatternsTest, K11DecodingThatKeepsNothing) {
  ChurnWithin(run.AddSite({.name = "decode (data.py:9)", .frames = {"jpeg", "__getitem__", "dataset"}}),
              kMiB);
  EXPECT_THAT(Matched(), Not(Contains("K11")));
}

TEST_F(SilentPatternsTest, K12ACacheThatIsMadeAnewEachStep) {
  ChurnWithin(run.AddSite({.name = "lookup (cache.py:9)", .frames = {"lru", "cache", "processor"}}),
              50 * kMiB);
  EXPECT_THAT(Matched(), Not(Contains("K12")));
}

TEST_F(SilentPatternsTest, K13ATokenizerThatRemembersNothing) {
  ChurnWithin(run.AddSite({.name = "encode (data.py:3)", .frames = {"tokenizers::bpe", "encode"}}), kMiB);
  EXPECT_THAT(Matched(), Not(Contains("K13")));
}

TEST_F(SilentPatternsTest, K14AndK16KernelsOfOneShape) {
  ChurnWithin(run.AddSite({.name = "conv", .frames = {"dnnl::impl::execute", "mkldnn", "workspace"}}),
              8 * kMiB);
  EXPECT_THAT(Matched(), IsEmpty());
}

// The first step imports the compiler's modules, and compiled code keeps what the user asked it to keep.
TEST_F(SilentPatternsTest, K15ModulesOfTheCompilerAndWhatItMade) {
  const size_t import =
      run.AddSite({.name = "main (train.py:34)",
                   .frames = {"exec", "_call_with_frames_removed <frozen importlib._bootstrap>",
                              "convert_frame torch/_dynamo/convert_frame.py"},
                   .is_import = true});
  run.Keep(import, 1, 60 * kMiB);
  KeepEachStep(
      run.AddSite({.name = "st (train.py:60)",
                   .frames = {"call /tmp/torchinductor_me/ab/cab.py", "torch/_dynamo/eval_frame.py"}}),
      600 * 1024);
  EXPECT_THAT(Matched(), Not(Contains("K15")));
}

TEST_F(SilentPatternsTest, K18AndK19ACommunicatorThatFreesWhatItTakes) {
  ChurnWithin(run.AddSite({.name = "all_reduce", .frames = {"calloc", "libnccl.so.2", "gloo"}}), kMiB);
  EXPECT_THAT(Matched(), IsEmpty());
}

TEST_F(SilentPatternsTest, K20AStateDictThatIsReadEachStep) {
  ChurnWithin(run.AddSite({.name = "ema (train.py:8)", .frames = {"state_dict", "update"}}), kMiB);
  EXPECT_THAT(Matched(), Not(Contains("K20")));
}

// optimizer.step() runs inside a range of the profiler, whether anybody profiles or not.
TEST_F(SilentPatternsTest, K22ARangeOfTheProfilerIsNoProfile) {
  KeepEachStep(run.AddSite({.name = "main (train.py:8)",
                            .frames = {"at::empty", "clone", "a", "b", "c", "d", "e", "f", "g",
                                       "step torch/optim/sgd.py", "__enter__ torch/autograd/profiler.py"}}),
               600 * 1024);
  EXPECT_THAT(Matched(), Not(Contains("K22")));
}

TEST_F(SilentPatternsTest, K23AVideoDecoderThatClosesItsFiles) {
  ChurnWithin(run.AddSite({.name = "av_frame_alloc", .frames = {"libavcodec.so.59", "decord::VideoReader"}}),
              kMiB);
  EXPECT_THAT(Matched(), Not(Contains("K23")));
}

// Batches of a data set that lies in Arrow files: the path has the word, the buffers are the collator's.
TEST_F(SilentPatternsTest, K24ArrowOnTheWayIsNoShard) {
  const size_t site =
      run.AddSite({.name = "train (run.py:8)",
                   .frames = {"at::stack", "torch_default_data_collator data_collator.py", "a", "b", "c", "d",
                              "e", "f", "__getitems__ datasets/arrow_dataset.py"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Churn(site, step, 10 * kMiB, 24 - (step % 24));
  EXPECT_THAT(Matched(), Not(Contains("K24")));
}

TEST_F(SilentPatternsTest, K27ImagesThatAreDropped) {
  run.epoch_steps = 300;
  ChurnWithin(run.AddSite({.name = "preprocess (image.py:3)", .frames = {"pixel_values", "vision"}}), kMiB);
  EXPECT_THAT(Matched(), Not(Contains("K27")));
}

TEST_F(SilentPatternsTest, K28APoolOfThreadsThatIsFilledOnce) {
  run.counts.push_back(
      {&series::LedgerSample::threads, [](int64_t step) { return std::min<double>(3 + step, 40); }});
  EXPECT_THAT(Matched(), Not(Contains("K28")));
}

TEST_F(SilentPatternsTest, K28ThreadsThatComeAndGo) {
  run.counts.push_back(
      {&series::LedgerSample::threads, [](int64_t step) { return 4.0 + 30 * (step % 7 == 0); }});
  EXPECT_THAT(Matched(), Not(Contains("K28")));
}

TEST_F(SilentPatternsTest, K29FilesThatAreClosed) {
  const size_t file = run.AddSite({.name = "train.py:9", .frames = {"_buffered_init", "_io_BufferedWriter"}});
  ChurnWithin(file, 60 * kMiB);
  EXPECT_THAT(Matched(), Not(Contains("K29")));
}

TEST_F(SilentPatternsTest, K29FilesOfAPoolThatIsFilledOnce) {
  run.counts.push_back(
      {&series::LedgerSample::open_files, [](int64_t step) { return std::min<double>(5 + step, 60); }});
  EXPECT_THAT(Matched(), Not(Contains("K29")));
}

TEST_F(SilentPatternsTest, K42MappingsOfLibrariesThatAreLoadedOnce) {
  run.counts.push_back(
      {&series::LedgerSample::mappings, [](int64_t step) { return 400 + std::min<double>(5 * step, 300); }});
  EXPECT_THAT(Matched(), Not(Contains("K42")));
}

TEST_F(SilentPatternsTest, K42AFewMappingsOfAnAllocator) {
  run.counts.push_back(
      {&series::LedgerSample::mappings, [](int64_t step) { return 400 + 0.2 * static_cast<double>(step); }});
  EXPECT_THAT(Matched(), Not(Contains("K42")));
}

TEST_F(SilentPatternsTest, K30FiguresThatAreClosed) {
  const size_t plot = run.AddSite({.name = "train.py:9", .frames = {"subplots /v/matplotlib/pyplot.py"}});
  ChurnWithin(plot, 60 * kMiB);
  EXPECT_THAT(Matched(), Not(Contains("K30")));
}

TEST_F(SilentPatternsTest, K31OneWriterForTheRun) {
  const size_t writer = run.AddSite({.name = "train.py:9", .frames = {"put event_file_writer.py"}});
  run.Keep(writer, 1, 60 * kMiB);
  EXPECT_THAT(Matched(), Not(Contains("K31")));
}

TEST_F(SilentPatternsTest, K32ErrorsThatAreHandled) {
  const size_t error = run.AddSite({.name = "train.py:9", .frames = {"PyTraceBack_Here python3"}});
  ChurnWithin(error, 60 * kMiB);
  EXPECT_THAT(Matched(), Not(Contains("K32")));
}

}  // namespace
}  // namespace plateau::verdict

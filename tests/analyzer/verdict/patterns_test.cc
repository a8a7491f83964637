// Each pattern on a simulated run that has it, and not on runs that do not.
#include "analyzer/verdict/patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/analyzer/verdict/scenario.h"

namespace plateau::verdict {
namespace {

using series::BirthPhase;

constexpr int64_t kSteps = 240;

class PatternsTest : public testing::Test {
 protected:
  PatternsTest() : run(kSteps) {
    run.epoch_steps = 60;
    run.examples_per_step = 8;
    run.input.has_python = true;
    run.AddOrdinaryTraining();
  }

  std::set<std::string> Matched() {
    analysis = run.Analyse();
    std::set<std::string> ids;
    for (const PatternMatch& match : analysis.patterns) {
      EXPECT_FALSE(match.evidence.empty());
      // Threads and files that pile up are counted; their bytes may be none.
      const std::string id = match.pattern->id;
      if (id != "K28" && id != "K29" && id != "K42") {
        EXPECT_GT(match.bytes, 0) << id;
      }
      ids.insert(match.pattern->id);
    }
    return ids;
  }
  const PatternMatch& Find(const std::string& id) {
    for (const PatternMatch& match : analysis.patterns) {
      if (id == match.pattern->id) return match;
    }
    ADD_FAILURE() << id << " did not match";
    static const PatternMatch none;
    return none;
  }

  Scenario run;
  Analysis analysis;
};

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST_F(PatternsTest, CatalogueIsComplete) {
  std::set<std::string> ids;
  for (const Pattern& pattern : PatternCatalogue()) {
    EXPECT_TRUE(ids.insert(pattern.id).second);
    EXPECT_STRNE(pattern.title, "");
    EXPECT_STRNE(pattern.explanation, "");
    EXPECT_STRNE(pattern.fix, "");
  }
  EXPECT_EQ(ids.size(), 42u);
}

TEST_F(PatternsTest, OrdinaryTrainingMatchesNothing) { EXPECT_THAT(Matched(), IsEmpty()); }

TEST_F(PatternsTest, WordsAreMatchedFromTheirBeginning) {
  EXPECT_TRUE(ContainsWord("arrow::Buffer", "arrow"));
  EXPECT_TRUE(ContainsWord("read_arrow", "arrow"));
  EXPECT_TRUE(ContainsWord("/opt/libnccl.so.2", "nccl"));
  EXPECT_TRUE(ContainsWord("MyDataset.__getitem__", "dataset"));
  EXPECT_FALSE(ContainsWord("at::narrow", "arrow"));
  EXPECT_FALSE(ContainsWord("compile_fx", "pil"));
}

TEST_F(PatternsTest, K01WorkersCopyPages) {
  const size_t list =
      run.AddSite({.name = "__init__ (data.py:12)", .frames = {"PyList_New", "__init__ (data.py:12)"}});
  run.Keep(list, 0, 500 * kMiB);
  for (int worker = 0; worker < 4; ++worker) {
    series::WorkerSeries series{.pid = 100 + worker, .shared_at_fork_bytes = 500 * kMiB};
    for (int64_t step = 0; step <= kSteps; ++step) {
      series.private_bytes.push_back(50 * kMiB +
                                     400 * kMiB * (1 - std::exp(-static_cast<double>(step) / 40)));
      series.live_bytes.push_back(30 * kMiB);
    }
    run.input.workers.push_back(series);
  }
  run.input.copy_on_write.sites = {{.site = list, .bytes = 1000 * kMiB}};
  EXPECT_THAT(Matched(), ElementsAre("K01"));
  EXPECT_EQ(Find("K01").site, list);
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kWorkerDuplication);
  EXPECT_EQ(analysis.process.headline_site, list);
  EXPECT_THAT(analysis.process.headline.sentence,
              testing::HasSubstr("1000 MiB of it was allocated at __init__ (data.py:12)"));
  EXPECT_TRUE(analysis.patterns.front().explains_headline);
}

TEST_F(PatternsTest, K02WorkersGrowAtEpochs) {
  run.input.processes = {
      {.pid = 7, .role = "dataloader worker", .heap_growth_bytes = 900 * kMiB, .grows_at_epochs = true}};
  EXPECT_THAT(Matched(), ElementsAre("K02"));
}

TEST_F(PatternsTest, K03PinnedRounding) {
  const size_t pinned = run.AddSite({.name = "pin_memory", .pool = "pinned", .frames = {"cudaHostAlloc"}});
  PoolCurve pool{.name = "pinned"};
  for (int64_t step = 0; step <= kSteps; ++step) {
    run.Churn(pinned, step, 1 << 24, 1);
    pool.step.push_back(static_cast<double>(step));
    pool.live.push_back(600 * kMiB);
    pool.reserved.push_back(1024 * kMiB);
  }
  run.input.pools = {pool};
  EXPECT_THAT(Matched(), ElementsAre("K03"));
}

TEST_F(PatternsTest, K04PinnedCacheStopsGrowing) {
  PoolCurve pool{.name = "pinned"};
  for (int64_t step = 0; step <= kSteps; ++step) {
    pool.step.push_back(static_cast<double>(step));
    pool.live.push_back(std::min<double>(static_cast<double>(step), 40) * 20 * kMiB);
    pool.reserved.push_back(std::min<double>(static_cast<double>(step), 40) * 20 * kMiB);
  }
  run.input.pools = {pool};
  EXPECT_THAT(Matched(), Contains("K04"));
}

TEST_F(PatternsTest, K05EvaluationAccumulates) {
  const size_t site = run.AddSite(
      {.name = "nested_concat (trainer_pt_utils.py:120)", .frames = {"nested_concat", "evaluation_loop"}});
  for (int64_t step = 50; step <= kSteps; step += 50) {
    run.evaluations.push_back(step);
    for (int i = 1; i <= 20; ++i) run.Churn(site, step, 40 * kMiB, i % 2);
  }
  EXPECT_THAT(Matched(), ElementsAre("K05"));
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kSpikeRecovered);
}

TEST_F(PatternsTest, K06GraphKept) {
  const size_t site = run.AddSite(
      {.name = "training_step (train.py:60)", .frames = {"torch::autograd::SavedVariable", "mul"}});
  for (int64_t step = 1; step <= kSteps; ++step) {
    for (int i = 0; i < 5; ++i) run.Keep(site, step, 200 * 1024);
  }
  EXPECT_THAT(Matched(), ElementsAre("K06"));
  EXPECT_TRUE(analysis.patterns[0].pattern->is_leak);
}

TEST_F(PatternsTest, K07MetricsReleasedAtTheEpoch) {
  const size_t site = run.AddSite({.name = "update (metrics.py:9)", .frames = {"update (metrics.py:9)"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Churn(site, step, 4 * kMiB, (60 - step % 60) % 60);
  EXPECT_THAT(Matched(), Contains("K07"));
  EXPECT_FALSE(IsLeak(analysis.process.headline.kind));
}

TEST_F(PatternsTest, K08GarbageWaits) {
  const size_t site = run.AddSite({.name = "build_graph (model.py:5)", .frames = {"build_graph"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Churn(site, step, 5 * kMiB, 17 - (step % 17));
  EXPECT_THAT(Matched(), ElementsAre("K08"));
}

TEST_F(PatternsTest, K09AllocatorKeepsMemory) {
  run.allocator_slack = [](int64_t step) { return 300 * kMiB + 12 * kMiB * static_cast<double>(step); };
  EXPECT_THAT(Matched(), ElementsAre("K09"));
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kFragmentation);
}

TEST_F(PatternsTest, K10MappedFiles) {
  run.file_bytes = [](int64_t step) { return 5 * kMiB * static_cast<double>(std::min<int64_t>(step, 120)); };
  EXPECT_THAT(Matched(), ElementsAre("K10"));
}

TEST_F(PatternsTest, K11DecodedExamplesKept) {
  const size_t site =
      run.AddSite({.name = "load (ImageFile.py:250)", .frames = {"decode", "load (ImageFile.py:250)"}});
  for (int64_t step = 1; step <= 60; ++step) {
    for (int i = 0; i < 8; ++i) run.Keep(site, step, (15 + i) * kMiB);
  }
  EXPECT_THAT(Matched(), ElementsAre("K11"));
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kCacheFill);
}

TEST_F(PatternsTest, K12BoundedCacheEvicts) {
  const size_t site =
      run.AddSite({.name = "get (mm_cache.py:44)", .frames = {"get (mm_cache.py:44)", "processor"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Churn(site, step, 20 * kMiB, 30);
  EXPECT_THAT(Matched(), ElementsAre("K12"));
  EXPECT_FALSE(IsLeak(analysis.process.headline.kind));
}

TEST_F(PatternsTest, K13TokenizerCache) {
  const size_t site =
      run.AddSite({.name = "encode (tokenizers)", .frames = {"tokenizers::models::bpe::Cache::set"}});
  for (int64_t step = 1; step <= kSteps; ++step) {
    const int entries = static_cast<int>(40 * std::exp(-static_cast<double>(step) / 20));
    for (int i = 0; i < entries; ++i) run.Keep(site, step, 100 * 1024);
  }
  EXPECT_THAT(Matched(), ElementsAre("K13"));
}

TEST_F(PatternsTest, K14KernelsPerShape) {
  const size_t site = run.AddSite(
      {.name = "dnnl_primitive_create", .frames = {"dnnl::impl::primitive_cache", "ideep::conv"}});
  for (int i = 0; i < 30; ++i) run.Keep(site, 1 + i * i / 15, 4 * kMiB + 4096.0 * i);
  EXPECT_THAT(Matched(), ElementsAre("K14"));
}

TEST_F(PatternsTest, K15CompilerCaches) {
  const size_t site =
      run.AddSite({.name = "compile_fx (inductor)", .frames = {"torch._dynamo.convert_frame", "inductor"}});
  for (int64_t step : {1, 2, 9, 31}) {
    for (int i = 0; i < 10; ++i) run.Keep(site, step, 8 * kMiB);
  }
  EXPECT_THAT(Matched(), ElementsAre("K15"));
}

TEST_F(PatternsTest, K16AutotuningAtTheStart) {
  const size_t site =
      run.AddSite({.name = "cudnnFindConvolution", .frames = {"cudnn", "benchmark workspace"}});
  for (int64_t step = 1; step <= 4; ++step) run.Keep(site, step, 100 * kMiB);
  EXPECT_THAT(Matched(), ElementsAre("K16"));
}

TEST_F(PatternsTest, K17DeviceFragments) {
  PoolCurve pool{.name = "device 0"};
  for (int64_t step = 0; step <= kSteps; ++step) {
    pool.step.push_back(static_cast<double>(step));
    pool.live.push_back(2 * kGiB);
    pool.reserved.push_back(3 * kGiB + 200 * kMiB * std::floor(static_cast<double>(step) / 20));
  }
  run.input.pools = {pool};
  EXPECT_THAT(Matched(), ElementsAre("K17"));
  EXPECT_EQ(analysis.pools[1].verdict.kind, VerdictKind::kFragmentation);
}

TEST_F(PatternsTest, K18CommunicatorBuffers) {
  const size_t site =
      run.AddSite({.name = "ncclCommInitRank", .pool = "device 0", .frames = {"libnccl.so.2"}});
  for (int i = 0; i < 6; ++i) run.Keep(site, 1 + i, 100 * kMiB);
  PoolCurve pool{.name = "device 0"};
  for (int64_t step = 0; step <= kSteps; ++step) {
    pool.step.push_back(static_cast<double>(step));
    pool.live.push_back(4 * kGiB);
    pool.reserved.push_back(4 * kGiB);
  }
  run.input.pools = {pool};
  EXPECT_THAT(Matched(), ElementsAre("K18"));
}

TEST_F(PatternsTest, K19CollectiveLeaks) {
  const size_t site =
      run.AddSite({.name = "ncclAllReduce", .frames = {"calloc", "libnccl.so.2", "all_reduce"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Keep(site, step, 160 * 1024);
  EXPECT_THAT(Matched(), ElementsAre("K19"));
}

TEST_F(PatternsTest, K20CheckpointSpikes) {
  const size_t site =
      run.AddSite({.name = "save_checkpoint (train.py:99)", .frames = {"torch.save", "save_checkpoint"}});
  for (int64_t step = 40; step <= kSteps; step += 40) {
    run.checkpoints.push_back(step);
    run.Churn(site, step, 800 * kMiB, 0);
  }
  EXPECT_THAT(Matched(), ElementsAre("K20"));
}

TEST_F(PatternsTest, K21SharedMemory) {
  run.shared_bytes = [](int64_t step) { return 4 * kMiB * static_cast<double>(step); };
  EXPECT_THAT(Matched(), ElementsAre("K21"));
  EXPECT_EQ(analysis.process.headline.evidence.untraced_kind, "shared");
}

TEST_F(PatternsTest, K22ProfilerBuffers) {
  const size_t site =
      run.AddSite({.name = "libkineto::ActivityBuffers", .frames = {"libkineto", "profiler.step"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Keep(site, step, 2 * kMiB);
  EXPECT_THAT(Matched(), ElementsAre("K22"));
}

TEST_F(PatternsTest, K23VideoDecoder) {
  const size_t site =
      run.AddSite({.name = "av_frame_alloc", .frames = {"libavcodec.so.59", "decord::VideoReader"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Keep(site, step, kMiB);
  EXPECT_THAT(Matched(), ElementsAre("K23"));
}

TEST_F(PatternsTest, K24ShardBuffers) {
  const size_t site =
      run.AddSite({.name = "read_row_group", .frames = {"arrow::MemoryPool", "parquet::Reader"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Churn(site, step, 10 * kMiB, 24 - (step % 24));
  EXPECT_THAT(Matched(), Contains("K24"));
}

TEST_F(PatternsTest, K25LongerInputs) {
  const size_t site = run.AddSite({.name = "attention (model.py:31)", .frames = {"attention"}});
  for (int64_t step = 1; step <= kSteps; ++step)
    run.Churn(site, step, 2 * kMiB * static_cast<double>(step), 0);
  EXPECT_THAT(Matched(), ElementsAre("K25"));
  EXPECT_EQ(analysis.process.headline.kind, VerdictKind::kSteady);
}

TEST_F(PatternsTest, K26HighWaterMark) {
  run.allocator_slack = [](int64_t step) { return step < 20 ? 3 * kGiB : 0.0; };
  EXPECT_THAT(Matched(), Contains("K26"));
}

TEST_F(PatternsTest, K27VisionBeforeTheEpochEnds) {
  run.epoch_steps = 300;
  const size_t site =
      run.AddSite({.name = "preprocess (image_processing.py:300)", .frames = {"pixel_values", "preprocess"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Keep(site, step, 20 * kMiB);
  EXPECT_THAT(Matched(), ElementsAre("K27"));
}

TEST_F(PatternsTest, K28ThreadsPileUp) {
  run.counts.push_back(
      {&series::LedgerSample::threads, [](int64_t step) { return 3 + static_cast<double>(step); }});
  run.input.started_threads = {{"train.py:47 in main", 230}, {"train.py:9 in main", 2}};
  EXPECT_THAT(Matched(), ElementsAre("K28"));
  EXPECT_EQ(
      Find("K28").evidence,
      "threads rose from 10 to 238, 1 a step; 230 of those at the end were started at train.py:47 in main");
}

TEST_F(PatternsTest, K29OpenFilesPileUp) {
  const size_t file = run.AddSite({.name = "train.py:9", .frames = {"_buffered_init", "_io_BufferedWriter"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Keep(file, step, kMiB);
  EXPECT_THAT(Matched(), ElementsAre("K29"));
}

TEST_F(PatternsTest, K29OpenFilesThatAreCountedPileUpWhateverTheirBytes) {
  run.counts.push_back(
      {&series::LedgerSample::open_files, [](int64_t step) { return 5 + static_cast<double>(step); }});
  EXPECT_THAT(Matched(), ElementsAre("K29"));
  EXPECT_EQ(Find("K29").evidence, "open files rose from 12 to 240, 1 a step");
}

TEST_F(PatternsTest, K42MappingsPileUp) {
  run.counts.push_back(
      {&series::LedgerSample::mappings, [](int64_t step) { return 400 + 2 * static_cast<double>(step); }});
  EXPECT_THAT(Matched(), ElementsAre("K42"));
  EXPECT_EQ(Find("K42").evidence, "mappings rose from 413 to 869, 2 a step");
}

TEST_F(PatternsTest, K30FiguresStayOpen) {
  const size_t plot = run.AddSite({.name = "train.py:9", .frames = {"subplots /v/matplotlib/pyplot.py"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Keep(plot, step, 2 * kMiB);
  EXPECT_THAT(Matched(), ElementsAre("K30"));
}

TEST_F(PatternsTest, K31WritersThatAreNeverClosed) {
  run.counts.push_back(
      {&series::LedgerSample::threads, [](int64_t step) { return 3 + static_cast<double>(step); }});
  const size_t writer = run.AddSite({.name = "train.py:9", .frames = {"SummaryWriter.__init__ writer.py"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Keep(writer, step, kMiB);
  EXPECT_THAT(Matched(), Contains("K31"));
}

TEST_F(PatternsTest, K32ExceptionsKept) {
  const size_t error = run.AddSite({.name = "train.py:9", .frames = {"PyTraceBack_Here python3"}});
  for (int64_t step = 1; step <= kSteps; ++step) run.Keep(error, step, kMiB);
  EXPECT_THAT(Matched(), ElementsAre("K32"));
}

}  // namespace
}  // namespace plateau::verdict

#include "analyzer/report/builder/build_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/report/json/json_report.h"
#include "tests/support/trace_text.h"

namespace plateau::report {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ReportModel Build(std::string_view text) {
  const std::string path = testing::WriteTemporary("build_report.plt", testing::TraceFromText(text));
  const auto recording = reader::OpenRecording({path});
  EXPECT_TRUE(recording.ok()) << recording.status();
  auto model = BuildReport(*recording, {});
  EXPECT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(CheckTotals(*model), IsEmpty());
  return *std::move(model);
}

// The functions of the stack that holds so many bytes, root first.
std::vector<std::string> StackHolding(const ReportModel& model, int64_t bytes) {
  std::vector<std::string> functions;
  for (const StackTreeNode& leaf : model.stacks) {
    if (leaf.retained_bytes != bytes) continue;
    const StackTreeNode* node = &leaf;
    while (true) {
      functions.insert(functions.begin(), model.frames[node->frame].function);
      if (node->parent < 0) return functions;
      node = &model.stacks[node->parent];
    }
  }
  return functions;
}

TEST(BuildReport, AStackThatWasCutSaysWhyAtItsRoot) {
  const ReportModel model = Build(R"(
header mode=exact clean_exit=1
code code=1 python=3011 line=30 file="/home/user/train.py" name="train"
python_location location=1 code=1
pc location=2 module=0 offset=2
pc location=3 module=0 offset=3
pc location=4 module=0 offset=6
pc location=5 module=0 offset=99
node node=1 parent=0 location=2
node node=2 parent=1 location=1
node node=3 parent=0 location=3
node node=4 parent=3 location=1
node node=5 parent=0 location=4
node node=6 parent=5 location=1
node node=7 parent=0 location=5
node node=8 parent=7 location=1
@1000 alloc address=0x10000 bytes=10001 stack=2
@2000 alloc address=0x20000 bytes=10002 stack=4
@3000 alloc address=0x30000 bytes=10003 stack=6
@4000 alloc address=0x40000 bytes=10004 stack=8
)");
  EXPECT_THAT(StackHolding(model, 10001), ElementsAre("[truncated: too deep]", "train"));
  EXPECT_THAT(StackHolding(model, 10002), ElementsAre("[truncated: code made at run time]", "train"));
  EXPECT_THAT(StackHolding(model, 10003), ElementsAre("[truncated: damaged stack]", "train"));
  EXPECT_THAT(StackHolding(model, 10004), ElementsAre("[truncated]", "train"));  // of a later version
  // The mark is nobody's call site.
  ASSERT_EQ(model.sites.size(), 1u);
  EXPECT_EQ(model.sites[0].site, "train.py:30 in train");
}

TEST(BuildReport, NotesSayWhatTheSizeLimitCost) {
  const ReportModel model = Build(R"(
header mode=default sample=524288 exact_from=16384 clean_exit=1
code code=1 python=3011 line=30 file="/home/user/train.py" name="train"
python_location location=1 code=1
node node=1 parent=0 location=1
@1000000000 alloc address=0x10000 bytes=20001 stack=1
@2000000000 rate mode=default exact_from=65536 sample=2097152
@3000000000 rate mode=off exact_from=65536 sample=2097152
)");
  EXPECT_THAT(model.recording.notes,
              Contains(AllOf(HasSubstr("sampling was made coarser"), HasSubstr("last period 2.00 MiB"))));
  EXPECT_THAT(model.recording.notes, Contains(AllOf(HasSubstr("the size limit was reached after"),
                                                    HasSubstr("in the totals only"))));
}

TEST(BuildReport, EndOfExactModeIsSaid) {
  const ReportModel model = Build(R"(
header mode=exact clean_exit=1
code code=1 python=3011 line=30 file="/home/user/train.py" name="train"
python_location location=1 code=1
node node=1 parent=0 location=1
@1000000000 alloc address=0x10000 bytes=20001 stack=1
@2000000000 rate mode=default exact_from=16384 sample=524288
@3000000000 rate mode=default exact_from=65536 sample=2097152
)");
  EXPECT_EQ(model.recording.mode, "exact");
  ASSERT_TRUE(model.recording.sampled_from_seconds.has_value());
  EXPECT_NEAR(*model.recording.sampled_from_seconds, 2, 1e-6);
  EXPECT_THAT(model.recording.notes, Contains(AllOf(HasSubstr("every event was recorded until 2 s"),
                                                    HasSubstr("last period 2.00 MiB"))));
}

TEST(BuildReport, ExactModeSaysThatPythonsObjectsWereSampled) {
  constexpr std::string_view kEvents = R"(
code code=1 python=3011 line=30 file="/home/user/train.py" name="train"
python_location location=1 code=1
node node=1 parent=0 location=1
@1000000000 alloc address=0x10000 bytes=20001 stack=1
)";
  const std::string header = "header mode=exact clean_exit=1 python_sample=524288\n";
  EXPECT_EQ(Build(header + std::string(kEvents)).recording.python_sample_bytes, 0u) << "nothing of Python";
  const std::string object = "alloc_in address=0x70000 bytes=100 stack=1\n";
  const ReportModel model = Build(header + std::string(kEvents) + object);
  EXPECT_EQ(model.recording.python_sample_bytes, 524288u);
  EXPECT_THAT(model.recording.notes, Contains(HasSubstr("small objects were sampled every 512 KiB")));
  EXPECT_THAT(model.leftovers, IsEmpty()) << "malloc's requests are all there";
}

// What it says of the smallest leak it could have seen is about the objects it did not record, too.
TEST(BuildReport, SampledPythonSitesOfExactModeKnowWhatTheyCouldHaveMissed) {
  const auto evidence = [](const std::string& header) {
    const ReportModel model = Build("header " + header + R"( clean_exit=1
code code=1 python=3011 line=30 file="/home/user/train.py" name="train"
code code=2 python=3011 line=12 file="/home/user/data.py" name="load_batch"
python_location location=1 code=1
python_location location=2 code=2
node node=1 parent=0 location=1
node node=2 parent=1 location=2
@1000000 alloc address=0x10000000 bytes=100000000 stack=1
for step 1 160
  @{step*100000000 + 4000} alloc_in address={0x100000000 + step*0x1000} bytes=100 stack=2
  @{step*100000000 + 50000000} free_in address={0x100000000 + step*0x1000}
  @{step*100000000 + 90000000} mark kind=step value=1 name="SGD"
end
)");
    for (const Site& site : model.sites) {
      if (site.line == 12) return site.evidence;
    }
    return std::string();
  };
  const std::string each = evidence("mode=exact python_sample=0");
  const std::string sampled = evidence("mode=exact python_sample=524288");
  EXPECT_THAT(each, HasSubstr("A leak above 1.")) << "KiB a step";
  EXPECT_THAT(sampled, HasSubstr("A leak above 16."));
  EXPECT_EQ(sampled, evidence("mode=default sample=524288 exact_from=16384 python_sample=524288"));
}

TEST(BuildReport, TheEndOfEachPythonObjectIsSaid) {
  const ReportModel model = Build(R"(
header mode=default sample=524288 exact_from=16384 python_sample=0 clean_exit=1
code code=1 python=3011 line=30 file="/home/user/train.py" name="train"
python_location location=1 code=1
node node=1 parent=0 location=1
@1000000000 alloc_in address=0x70000 bytes=100 stack=1
@2000000000 rate mode=default exact_from=65536 sample=2097152
)");
  EXPECT_THAT(model.recording.notes, Contains(HasSubstr("small objects was recorded until 2 s")));
}

TEST(BuildReport, ARecordingWithinItsLimitHasNoNoteAboutIt) {
  const ReportModel model = Build(R"(
header mode=default sample=524288 exact_from=16384 clean_exit=1
@1000000000 alloc address=0x10000 bytes=20001
)");
  for (const std::string& note : model.recording.notes) EXPECT_THAT(note, ::testing::Not(HasSubstr("limit")));
}

// Growth of the stacks that have a site, and of one frame's stacks.
double GrowthInTree(const ReportModel& model, std::string_view function = "") {
  double sum = 0;
  for (const StackTreeNode& node : model.stacks) {
    if (function.empty() || model.frames[node.frame].function == function) sum += node.growth_bytes_per_step;
  }
  return sum;
}

constexpr std::string_view kOneLineThroughTwoCallers = R"(
header mode=exact clean_exit=1
code code=1 python=3011 line=30 file="/home/user/train.py" name="train"
code code=2 python=3011 line=7 file="/usr/lib/python3/dist-packages/lib/keep.py" name="keep"
code code=3 python=3011 line=9 file="/usr/lib/python3/dist-packages/lib/once.py" name="once"
python_location location=1 code=1
python_location location=2 code=2
python_location location=3 code=3
node node=1 parent=0 location=1
node node=2 parent=1 location=2
node node=3 parent=1 location=3
@1000000 alloc address=0x10000000 bytes=900000 stack=3
for step 1 160
  @{step*100000000 + 4000} alloc address={0x100000000 + step*0x10000} bytes=10001 stack=2
  @{step*100000000 + 90000000} mark kind=step value=1 name="SGD"
end
)";

TEST(BuildReport, GrowthOfASiteIsThatOfTheStacksThatGrow) {
  const ReportModel model = Build(kOneLineThroughTwoCallers);
  ASSERT_EQ(model.sites.size(), 1u);
  const double growth = model.sites[0].growth_bytes_per_step;
  EXPECT_NEAR(growth, 10001, 100);
  EXPECT_NEAR(GrowthInTree(model), growth, 1e-6);
  EXPECT_NEAR(GrowthInTree(model, "keep"), growth, 1e-6);
  EXPECT_EQ(GrowthInTree(model, "once"), 0) << "it holds much, and no more than at the start";
}

TEST(BuildReport, GrowthOfStacksBeyondTheTreeIsThatOfTheOthers) {
  const std::string path =
      testing::WriteTemporary("others.plt", testing::TraceFromText(kOneLineThroughTwoCallers));
  const auto recording = reader::OpenRecording({path});
  ASSERT_TRUE(recording.ok());
  BuildOptions options;
  options.max_stacks = 1;
  const auto model = BuildReport(*recording, options);
  ASSERT_TRUE(model.ok());
  EXPECT_NEAR(GrowthInTree(*model), model->sites[0].growth_bytes_per_step, 1e-6);
}

TEST(BuildReport, GrowthOfAProcessIsThatOfItsSites) {
  const ReportModel model = Build(kOneLineThroughTwoCallers);
  ASSERT_EQ(model.processes.size(), 1u);
  EXPECT_EQ(model.processes[0].growth_bytes_per_step, model.sites[0].growth_bytes_per_step);
  ASSERT_EQ(model.sites[0].processes.size(), 1u);
  EXPECT_EQ(model.sites[0].processes[0].growth_bytes_per_step, model.sites[0].growth_bytes_per_step);
}

// Live memory that happens to be lower whenever it is read late is no growth below zero.
TEST(BuildReport, AProcessThatKeepsNothingDoesNotShrink) {
  const ReportModel model = Build(R"(
header mode=exact clean_exit=1
code code=1 python=3011 line=30 file="/home/user/train.py" name="train"
python_location location=1 code=1
node node=1 parent=0 location=1
@1000000 alloc address=0x10000000 bytes=900000 stack=1
for step 1 160
  @{step*100000000 + 4000} alloc address=0x20000000 bytes={40000000 - step*200000} stack=1
  @{step*100000000 + 5000} ledger rss_anon=50000000
  @{step*100000000 + 80000000} free address=0x20000000
  @{step*100000000 + 90000000} mark kind=step value=1 name="SGD"
end
)");
  EXPECT_EQ(model.processes[0].growth_bytes_per_step, 0);
}

TEST(BuildReport, EverySiteHasItsSourceText) {
  const std::string source = testing::WriteTemporary("many.py", "one = 1\ntwo = 2\nthree = 3\n");
  std::string text = "header mode=exact clean_exit=1\n";
  for (int i = 1; i <= 3; ++i) {
    const std::string n = std::to_string(i);
    text += "code code=" + n + " python=3011 line=" + n + " file=\"" + source + "\" name=\"f" + n + "\"\n";
    text += "python_location location=" + n + " code=" + n + "\n";
    text += "node node=" + n + " parent=0 location=" + n + "\n";
    text += "@" + n + "000 alloc address=0x" + n + "0000 bytes=1000" + n + " stack=" + n + "\n";
  }
  const std::string path = testing::WriteTemporary("many.plt", testing::TraceFromText(text));
  const auto recording = reader::OpenRecording({path});
  ASSERT_TRUE(recording.ok());
  BuildOptions options;
  options.named_sites = 1;
  const auto model = BuildReport(*recording, options);
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(model->sites.size(), 3u);
  for (const Site& site : model->sites) EXPECT_FALSE(site.source_line.empty()) << site.site;
}

const Site* FindSite(const ReportModel& model, std::string_view title) {
  for (const Site& site : model.sites) {
    if (site.site == title) return &site;
  }
  return nullptr;
}

TEST(BuildReport, ASiteNamesTheLibraryLineThatAllocates) {
  const ReportModel model = Build(R"(
header mode=exact clean_exit=1
code code=1 python=3011 line=30 file="/home/user/train.py" name="main"
code code=2 python=3011 line=7 file="/v/lib/python3.11/site-packages/lib/trainer.py" name="train"
code code=3 python=3011 line=9 file="/v/lib/python3.11/site-packages/lib/collator.py" name="collate"
code code=4 python=3011 line=1 file="<eval_with_key>.3" name="forward"
code code=5 python=3011 line=3 file="/home/user/train.py" name="<module>"
code code=6 python=3011 line=241 file="<frozen importlib._bootstrap>" name="_call_with_frames_removed"
code code=7 python=3011 line=5 file="/v/lib/python3.11/site-packages/lib/__init__.py" name="<module>"
python_location location=1 code=1
python_location location=2 code=2
python_location location=3 code=3
python_location location=4 code=4
python_location location=5 code=5
python_location location=6 code=6
python_location location=7 code=7
node node=1 parent=0 location=1
node node=2 parent=1 location=2
node node=3 parent=2 location=3
node node=4 parent=3 location=4
node node=5 parent=0 location=5
node node=6 parent=5 location=6
node node=7 parent=6 location=7
@1000 alloc address=0x10000 bytes=10001 stack=4
@2000 alloc address=0x20000 bytes=90002 stack=7
)");
  const Site* train = FindSite(model, "train.py:30 in main");
  ASSERT_NE(train, nullptr);
  EXPECT_EQ(train->library, "collator.py:9 in collate") << "generated code is nobody's line";
  EXPECT_FALSE(train->is_import);
  const Site* import = FindSite(model, "train.py:3 in <module>");
  ASSERT_NE(import, nullptr);
  EXPECT_TRUE(import->is_import);
}

TEST(BuildReport, CellsOfANotebookHaveTheirNumberAndText) {
  const ReportModel model = Build(R"(
header mode=exact clean_exit=1
code code=1 python=3011 line=2 file="/tmp/ipykernel_71/2938.py" name="<module>"
code code=2 python=3011 line=1 file="<ipython-input-9-2f3a>" name="f"
python_location location=1 code=1
python_location location=2 code=2
node node=1 parent=0 location=1
node node=2 parent=0 location=2
@500 mark kind=note source=site value=7 name="cell /tmp/ipykernel_71/2938.py\nx = 1\nkept = [0] * 1000"
@1000 alloc address=0x10000 bytes=10001 stack=1
@2000 alloc address=0x20000 bytes=10002 stack=2
)");
  const Site* cell = FindSite(model, "In [7]:2");
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->source_line, "kept = [0] * 1000");
  EXPECT_NE(FindSite(model, "In [9]:1 in f"), nullptr);
}

// train.py (100) starts a server (200), which forks a worker (300): the worker is counted in the training's steps.
TEST(BuildReport, AWorkerOfAServerIsCountedInTheStepsOfTheTraining) {
  const std::string training = R"(
header mode=exact pid=100 start_realtime_ns=1 clean_exit=1
for step 1 160
  @{step*100000000 + 90000000} mark kind=step value=1 name="SGD"
end
)";
  const std::string server =
      "header mode=exact pid=200 parent=100 start_realtime_ns=2 clean_exit=1\n@1000 alloc address=0x1000 "
      "bytes=10\n";
  const std::string worker = R"(
header mode=exact pid=300 parent=200 start_realtime_ns=3 clean_exit=1
code code=1 python=3011 line=30 file="/home/user/data.py" name="__getitem__"
python_location location=1 code=1
node node=1 parent=0 location=1
for step 1 160
  @{step*100000000 + 4000} alloc address={0x100000000 + step*0x100000} bytes=500001 stack=1
end
@16100000000 alloc address=0x500 bytes=10 stack=1
)";
  std::vector<std::string> paths;
  for (const auto& [name, text] :
       {std::pair("a.plt", training), std::pair("b.plt", server), std::pair("c.plt", worker)})
    paths.push_back(testing::WriteTemporary(name, testing::TraceFromText(text)));
  const auto recording = reader::OpenRecording(paths);
  ASSERT_TRUE(recording.ok());
  const auto model = BuildReport(*recording, {});
  ASSERT_TRUE(model.ok());
  // No pass over data is known, so it grows, and whether it is a leak stays open.
  EXPECT_EQ(model->verdict.name, "unbounded_growth");
  EXPECT_THAT(model->verdict.sentence, HasSubstr("/step"));
  EXPECT_THAT(model->verdict.sentence, HasSubstr("process 300"));
  ASSERT_NE(FindSite(*model, "data.py:30 in __getitem__"), nullptr);
  EXPECT_NEAR(FindSite(*model, "data.py:30 in __getitem__")->growth_bytes_per_step, 500001, 5000);
}

// One rank of a job, its stacks half in Python and half in this very program, whose symbols every lane reads.
std::string RankText(int rank, const std::string& program) {
  return absl::StrCat("header mode=exact pid=", 200 + rank, " parent=100 start_realtime_ns=", 10 + rank,
                      " clean_exit=1\ninfo key=\"job:rank\" value=\"", rank,
                      "\"\nmodule module=1 base=0x400000 begin=0x401000 bytes=1048576 path=\"", program, R"("
code code=1 python=3011 line=30 file="/home/user/train.py" name="train"
python_location location=1 code=1
pc location=2 module=1 offset=0x9000
pc location=3 module=1 offset=0x9800
node node=1 parent=0 location=1
node node=2 parent=1 location=2
node node=3 parent=1 location=3
for step 1 60
  @{step*100000000} alloc address=0x80000000 bytes=20001 stack=2
  @{step*100000000 + 4000} alloc address={0x100000000 + step*0x100000} bytes=50001 stack=3
  @{step*100000000 + 5000} free address=0x80000000
  @{step*100000000 + 90000000} mark kind=step value=1 name="SGD"
end
)");
}

std::string WorkerText(int rank) {
  return absl::StrCat(
      "header mode=exact pid=", 400 + rank, " parent=", 200 + rank, " start_realtime_ns=", 100 + rank,
      " clean_exit=1\ninfo key=\"role\" value=\"forked worker\"\n@1000 alloc address=0x1000 bytes=10001\n");
}

// The lanes share nothing but what is named in build_report.cc; the thread sanitizer looks at it here.
TEST(BuildReport, AJobIsTheSameForAnyNumberOfThreads) {
  constexpr int kRanks = 12;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::string> paths = {testing::WriteTemporary(
      "launcher.plt",
      testing::TraceFromText("header mode=exact pid=100 start_realtime_ns=1 clean_exit=1\n"))};
  for (int rank = 0; rank < kRanks; ++rank) {
    paths.push_back(testing::WriteTemporary(absl::StrCat("rank", rank, ".plt"),
                                            testing::TraceFromText(RankText(rank, program))));
    paths.push_back(testing::WriteTemporary(absl::StrCat("worker", rank, ".plt"),
                                            testing::TraceFromText(WorkerText(rank))));
  }
  const auto recording = reader::OpenRecording(paths);
  ASSERT_TRUE(recording.ok()) << recording.status();
  std::string first;
  for (const int threads : {1, 2, 7}) {
    BuildOptions options;
    options.process.threads = threads;
    const auto model = BuildReport(*recording, options);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->processes.size(), 2u * kRanks + 1);
    const std::string json = WriteJsonReport(*model, {.include_stacks = true});
    if (first.empty()) first = json;
    EXPECT_EQ(json, first) << threads << " threads";
  }
}

}  // namespace
}  // namespace plateau::report

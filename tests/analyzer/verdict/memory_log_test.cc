#include "analyzer/verdict/cases/memory_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "analyzer/verdict/cases/case_file.h"
#include "analyzer/verdict/cases/log_words.h"

namespace plateau::verdict {
namespace {

using testing::HasSubstr;

constexpr double kMiB = 1 << 20;

MemoryLog One(std::string_view text, const LogOptions& options = {}) {
  const auto logs = ReadMemoryLogs(text, "log", options);
  EXPECT_TRUE(logs.ok()) << logs.status();
  return logs.ok() ? logs->front() : MemoryLog{};
}

std::string Error(std::string_view text, const LogOptions& options = {}) {
  const auto logs = ReadMemoryLogs(text, "log", options);
  EXPECT_FALSE(logs.ok()) << text;
  return logs.ok() ? "" : std::string(logs.status().message());
}

std::string Sample(const std::string& name) {
  std::ifstream file(std::string(PLATEAU_LOGS) + "/" + name);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(MemoryLogTest, TableWithNamesInAnyOrder) {
  for (const char* text : {"step,rss_mb\n10,5434\n20,7017\n", "rss_mb;step\n5434;10\n7017;20\n",
                           "loss\tMemory (MiB)\tglobal_step\n0.5\t5434\t10\n0.4\t7017\t20\n",
                           "step rss_mb\n10 5434\n20 7017\n"}) {
    const MemoryLog log = One(text);
    EXPECT_EQ(log.curve.step, (std::vector<double>{10, 20})) << text;
    EXPECT_EQ(log.curve.bytes, (std::vector<double>{5434 * kMiB, 7017 * kMiB})) << text;
    EXPECT_EQ(log.unit, "step");
  }
  EXPECT_EQ(One("step,rss_mb\n10,5434\n20;7017\n30\t8721\n").curve.step.size(), 3u)
      << "separators may change";
  EXPECT_EQ(One("1,1000000\n2,2000000\n").curve.bytes[1], 2000000) << "two columns need no names";
}

TEST(MemoryLogTest, NamesThatAreNotKnownAreRefused) {
  EXPECT_THAT(Error("a,b\n1,2\n3,4\n"),
              HasSubstr("none of the columns \"a\", \"b\" is known as a memory size"));
  EXPECT_THAT(Error("epoch,rss_mb\n1,2\n3,4\n"), HasSubstr("is known as a step or a time"));
  EXPECT_THAT(Error("step,a_rss,b_rss\n1,2,3\n"), HasSubstr("several of the columns"));
  EXPECT_THAT(Error("1,2,3\n4,5,6\n"), HasSubstr("no names above them"));
  EXPECT_THAT(Error("step,rss\n1,2\n", {.column = "uss", .unit_bytes = {}}),
              HasSubstr("there is no column \"uss\""));
  EXPECT_THAT(Error("step,mem_percent\n1,2\n"), HasSubstr("memory size"));
  EXPECT_THAT(Error("step,bytes\n1,100\nabc,1\n"), HasSubstr("line 3"));
  EXPECT_THAT(Error(""), HasSubstr("Step 40: 10,375 MB"));
  EXPECT_THAT(Error("hello\nworld\n"), HasSubstr("What can be read"));
}

TEST(MemoryLogTest, ColumnAndUnitMayBeSaid) {
  const LogOptions options = {.column = "b_rss", .unit_bytes = 1024};
  EXPECT_EQ(One("step,a_rss,b_rss\n1,2,3\n", options).curve.bytes[0], 3 * 1024);
  EXPECT_EQ(One("step,a_rss,rss_mb\n1,2,3\n", {.column = "rss_mb", .unit_bytes = 1}).curve.bytes[0],
            3 * kMiB);
}

TEST(MemoryLogTest, SizesWithoutAUnitAreBytesOnlyWhereTheyCanBe) {
  EXPECT_THAT(Error("Wall time,Step,Value\n1794965488.1,10,5000\n1794965489.2,20,6000\n"),
              HasSubstr("--unit=MB"));
  EXPECT_THAT(Error("10,5434\n20,5450\n"), HasSubstr("--unit=MB"));
  EXPECT_EQ(One("Wall time,Step,Value\n1794965488.1,10,5000000\n1794965489.2,20,6000000\n").curve.bytes[1],
            6e6);
}

TEST(MemoryLogTest, LinesOfText) {
  const MemoryLog log = One("Starting\nStep 10:  5,552 MB  (baseline)\nStep 20:  7,159 MB  (+1,607 MB)\n");
  EXPECT_EQ(log.curve.step, (std::vector<double>{10, 20}));
  EXPECT_EQ(log.curve.bytes, (std::vector<double>{5552 * kMiB, 7159 * kMiB}));
  EXPECT_EQ(log.lines_left_out, 1);
  EXPECT_EQ(One("step=4 loss=0.1 rss=1.5GB\nstep=5 loss=0.1 rss=1.75GB\n").curve.bytes[1],
            1.75 * 1024 * kMiB);
  EXPECT_EQ(One("[step 40/240] memory 100 MiB\n[step 41/240] memory 101 MiB\n").curve.step[1], 41);
}

TEST(MemoryLogTest, SizesAloneAreSamples) {
  const MemoryLog log = One("VmRSS:\t   10092 kB\nVmRSS:\t   18716 kB\nVmRSS:\t   27340 kB\n");
  EXPECT_EQ(log.unit, "sample");
  EXPECT_EQ(log.curve.step, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(log.curve.bytes[2], 27340 * 1024.0);
  EXPECT_THAT(Error("it takes 4 GB\nand 8 GB of disk\nand then\nnothing\nmore\n"),
              HasSubstr("no line holds"));
}

TEST(MemoryLogTest, ANumberALineAsksForItsUnit) {
  const std::string of_ps = " 10092\n 18716\n 27340\n";
  EXPECT_THAT(Error(of_ps), HasSubstr("--unit=KB"));
  const MemoryLog log = One(of_ps, {.column = "", .unit_bytes = 1024});
  EXPECT_EQ(log.unit, "sample");
  EXPECT_EQ(log.curve.bytes[2], 27340 * 1024.0);
  EXPECT_THAT(Error("10092\n18716\nkilled\n"), HasSubstr("no line holds"));
}

TEST(MemoryLogTest, UnixTimesWithoutANameAreSeconds) {
  const MemoryLog log = One("1795060991 10731520\n1795060992 19566592\n1795060994 28393472\n");
  EXPECT_EQ(log.unit, "second");
  EXPECT_EQ(log.curve.step, (std::vector<double>{0, 1, 3}));
  EXPECT_EQ(One("1000000 10731520\n2000000 19566592\n").unit, "step");
}

TEST(MemoryLogTest, TwoRunsInOneFileAreTwoCurves) {
  const auto logs =
      ReadMemoryLogs("Step 10: 1 MB\nStep 20: 2 MB\nRun 2\nStep 10: 3 MB\nStep 20: 4 MB\n", "log", {});
  ASSERT_TRUE(logs.ok()) << logs.status();
  ASSERT_EQ(logs->size(), 2u);
  EXPECT_EQ((*logs)[1].curve.bytes[0], 3 * kMiB);
}

TEST(MemoryLogTest, ClockTimesAreSecondsAndPassMidnight) {
  const MemoryLog log = One("23:59:50 - 4423 MB\n00:00:00 - 4424 MB\n00:00:10 - 4425 MB\n");
  EXPECT_EQ(log.unit, "second");
  EXPECT_EQ(log.curve.step, (std::vector<double>{0, 10, 20}));
  const MemoryLog dated = One("2026-02-28 23:59:59 rss 5 MB\n2026-03-01 00:00:01 rss 6 MB\n");
  EXPECT_EQ(dated.curve.step[1], 2);
}

TEST(MemoryLogTest, OutputOfTools) {
  const MemoryLog plain = One(Sample("psrecord.txt"));
  EXPECT_EQ(plain.unit, "second");
  EXPECT_EQ(plain.column, "Real (MB)");
  EXPECT_GT(*std::max_element(plain.curve.bytes.begin(), plain.curve.bytes.end()), 20 * kMiB);
  const MemoryLog csv = One(Sample("psrecord.csv"));
  EXPECT_EQ(csv.column, "mem_real");
  const double most = *std::max_element(csv.curve.bytes.begin(), csv.curve.bytes.end());
  EXPECT_GT(most, 20 * kMiB);
  EXPECT_LT(most, 100 * kMiB);
  const MemoryLog mprof = One(Sample("mprof.dat"));
  EXPECT_EQ(mprof.unit, "second");
  EXPECT_GT(mprof.curve.step.back(), 1);
  EXPECT_LT(mprof.curve.step.back(), 60) << "counted from the first";
  const MemoryLog free_log = One(Sample("free_m.txt"));
  EXPECT_EQ(free_log.unit, "sample");
  EXPECT_EQ(free_log.curve.step.size(), 5u);
  EXPECT_GT(free_log.curve.bytes[0], 100 * kMiB);
  const MemoryLog ps = One(Sample("ps_loop.txt"));
  EXPECT_EQ(ps.unit, "sample");
  EXPECT_EQ(ps.column, "RSS");
  EXPECT_GT(ps.curve.bytes.back(), kMiB);
}

TEST(MemoryLogTest, ExportsOfDashboards) {
  const MemoryLog wandb =
      One("\"Step\",\"run-1 - system.proc.memory.rssMB\",\"run-1 - system.proc.memory.rssMB__MIN\",\"run-1 - "
          "system.proc.memory.rssMB__MAX\"\n\"1\",\"100\",\"90\",\"110\"\n\"2\",\"\",\"\",\"\"\n\"3\","
          "\"104\",\"1\",\"2\"\n");
  EXPECT_EQ(wandb.curve.step, (std::vector<double>{1, 3}));
  EXPECT_EQ(wandb.curve.bytes[1], 104 * kMiB);
  EXPECT_EQ(wandb.lines_left_out, 1) << "a row without a value";
  const MemoryLog board = One("Wall time,Step,Value\n1794965488.1,10,5000\n1794965489.2,20,6000\n",
                              {.column = "", .unit_bytes = kMiB});
  EXPECT_EQ(board.curve.step[1], 20);
  EXPECT_EQ(board.curve.bytes[1], 6000 * kMiB);
}

TEST(MemoryLogTest, SecondsAreNotCalledSteps) {
  std::string text = "elapsed_s,rss_mb\n";
  for (int i = 0; i < 200; ++i) text += std::to_string(i) + "," + std::to_string(100 + i) + "\n";
  const auto cases = ParseLogCases(text, "log", {});
  ASSERT_TRUE(cases.ok()) << cases.status();
  const std::string sentence = RunCase(cases->front()).verdict.sentence;
  EXPECT_THAT(sentence, HasSubstr("log without steps cannot tell"));
  EXPECT_THAT(sentence, testing::Not(HasSubstr("--epoch-steps")));
  Defaults defaults;
  defaults.epoch_steps = 80;
  EXPECT_THAT(std::string(ParseLogCases(text, "log", defaults).status().message()),
              HasSubstr("has no steps"));
}

TEST(MemoryLogTest, NumbersUnitsAndTimes) {
  EXPECT_EQ(ParseNumber("10,375"), 10375);
  EXPECT_EQ(ParseNumber("1,234,567.5"), 1234567.5);
  for (const char* word : {"", "1,23", "nan", "inf", "1e999", "12MB", ",1", "1,2345"}) {
    EXPECT_FALSE(ParseNumber(word)) << word;
  }
  EXPECT_EQ(ParseUnit("GiB"), 1024.0 * kMiB);
  EXPECT_FALSE(ParseUnit("steps"));
  EXPECT_EQ(ParseTime("01:00:00.5"), 3600.5);
  EXPECT_EQ(ParseTime("1970-01-02T00:00:01Z"), 86401);
  for (const char* word : {"12:99:00", "a:b:c", "1970-13-01 00:00:00", "::"})
    EXPECT_FALSE(ParseTime(word)) << word;
}

}  // namespace
}  // namespace plateau::verdict

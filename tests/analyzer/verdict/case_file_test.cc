#include "analyzer/verdict/cases/case_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace plateau::verdict {
namespace {

using testing::HasSubstr;

std::string JsonError(const std::string& text) {
  const auto cases = ParseJsonCases(text, "f.json", {});
  EXPECT_EQ(cases.status().code(), absl::StatusCode::kDataLoss) << text;
  return std::string(cases.status().message());
}

TEST(CaseFileTest, MistakesNameTheFileTheCaseAndTheField) {
  EXPECT_THAT(JsonError("{"), HasSubstr("f.json: not JSON"));
  EXPECT_THAT(JsonError("7"), HasSubstr("expected {\"cases\": [...]}"));
  EXPECT_THAT(JsonError(R"({"cases":[{"id":"a"}]})"),
              HasSubstr("f.json: case 0 (a): the case has no \"meta\""));
  EXPECT_THAT(JsonError(R"([{"meta":{"steps":5}}])"),
              HasSubstr("none of \"site\", \"series\" and \"process\""));
  EXPECT_THAT(JsonError(R"([{"meta":{"steps":-5},"series":{}}])"), HasSubstr("meta.steps is out of range"));
  EXPECT_THAT(JsonError(R"([{"meta":{"steps":2},"site":{"alloc_bytes":[1,2]}}])"),
              HasSubstr("site.alloc_bytes has 2 entries, expected 3"));
  EXPECT_THAT(JsonError(R"([{"meta":{"steps":2},"series":{"step":[1,"x"],"bytes":[1,2]}}])"),
              HasSubstr("series.step[1] is not a number"));
  EXPECT_THAT(JsonError(R"([{"meta":{"steps":2},"series":{"step":[1],"bytes":[1]},"truth":"WRONG"}])"),
              HasSubstr("unknown verdict"));
  EXPECT_THAT(JsonError(R"([{"meta":{"steps":1e300},"series":{"step":[],"bytes":[]}}])"),
              HasSubstr("out of range"));
}

TEST(CaseFileTest, CommandLineFillsWhatTheFileLeavesOpen) {
  Defaults defaults;
  defaults.epoch_steps = 40;
  defaults.limit_bytes = 1000;
  const auto cases = ParseJsonCases(
      R"({"cases":[{"meta":{"steps":9,"epoch_steps":12.5,"limit_bytes":null},"series":{"step":[1,2],"bytes":[3,4]}}]})",
      "f.json", defaults);
  ASSERT_TRUE(cases.ok()) << cases.status();
  EXPECT_EQ(cases->at(0).run.epoch_steps, 12.5);
  EXPECT_EQ(cases->at(0).run.limit_bytes, 1000);
}

TEST(CaseFileTest, EventStreamsMustMakeSense) {
  const std::string vector =
      R"({"schema":"plateau-event-vector/1","name":"v","meta":{"steps":2},"expected":{}})";
  EXPECT_TRUE(ParseEventCases(vector, R"({"op":"step","n":1})", "e", {}).ok());
  for (const char* lines : {R"({"op":"f","id":1})", R"({"op":"step","n":3})", "nonsense",
                            R"({"op":"a","id":1,"size":-1,"site":"s"})", R"({"op":"q"})"}) {
    EXPECT_EQ(ParseEventCases(vector, lines, "e", {}).status().code(), absl::StatusCode::kDataLoss) << lines;
  }
}

TEST(CaseFileTest, FewOrDegenerateSamplesAreJudgedNotCrashedOn) {
  for (const char* text :
       {"1,5000000\n", "1,5000000\n1,6000000\n", "step,rss_mb\n1,0\n2,0\n3,0\n4,0\n5,0\n6,0\n7,0\n8,0\n9,0\n",
        "5,9000000\n5,9000000\n5,9000000\n5,9000000\n5,9000000\n5,9000000\n5,9000000\n5,9000000\n",
        "1,1e300\n2,1\n3,-1e300\n"}) {
    const auto cases = ParseLogCases(text, "rss.csv", {});
    ASSERT_TRUE(cases.ok()) << cases.status();
    EXPECT_FALSE(IsLeak(RunCase(cases->front()).verdict.kind)) << text;
  }
}

}  // namespace
}  // namespace plateau::verdict

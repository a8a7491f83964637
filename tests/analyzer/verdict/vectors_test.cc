// The vectors under vectors/ are the specification of the classifier: labelled cases from simulated runs
// whose truth is known, and the logs the project began with.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/verdict/cases/case_file.h"
#include "analyzer/verdict/cases/case_json.h"

namespace plateau::verdict {
namespace {

class VectorsTest : public testing::TestWithParam<const char*> {};

TEST_P(VectorsTest, EveryVerdictIsAcceptedAndNumbersAgree) {
  const auto files = FindCaseFiles(std::string(PLATEAU_VECTORS) + "/" + GetParam());
  ASSERT_TRUE(files.ok()) << files.status();
  Score score;
  for (const std::string& file : *files) {
    const auto cases = ReadCaseFile(file, {});
    ASSERT_TRUE(cases.ok()) << cases.status();
    for (const VerdictCase& one : *cases) {
      const CaseResult result = RunCase(one);
      score.Add(one, result);
      EXPECT_FALSE(result.verdict.sentence.empty()) << one.id;
      if (result.verdict.kind == VerdictKind::kInconclusive) {
        EXPECT_NE(result.verdict.reason, Reason::kNone) << one.id;
      }
      EXPECT_EQ(ResultLine(one, result), ResultLine(one, RunCase(one)))
          << one.id << " differs between two runs";
    }
  }
  EXPECT_GE(score.with_expectation, 7);
  EXPECT_EQ(score.right, score.with_expectation);
  EXPECT_EQ(score.false_leaks, 0);
  EXPECT_EQ(score.numbers_off, 0);
  EXPECT_EQ(score.arrays_off, 0);
  for (const std::string& complaint : score.complaints) ADD_FAILURE() << complaint;
}

INSTANTIATE_TEST_SUITE_P(Tiers, VectorsTest,
                         testing::Values("seed.json", "site", "series", "process", "events"),
                         [](const auto& test) {
                           return std::string(test.param).substr(0, 4) + std::to_string(test.index);
                         });

}  // namespace
}  // namespace plateau::verdict

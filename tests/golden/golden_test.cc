// Every NAME.trace.txt of this folder gives the report NAME.report.txt beside it: one case per verdict, one
// per kind of damage. Further processes of a case are in NAME.OTHER.trace.txt.
//
// PLATEAU_UPDATE_GOLDEN=1 writes the reports anew; look at the difference before committing it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzer/reader/recording.h"
#include "analyzer/report/builder/build_report.h"
#include "analyzer/report/text/card.h"
#include "analyzer/report/text/text_report.h"
#include "tests/support/golden_cases.h"

namespace plateau::report {
namespace {

namespace fs = std::filesystem;

// Reports of attached programs have times of day.
[[maybe_unused]] const int kZone = setenv("TZ", "UTC", 1);

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What `plateau report` prints for this case, without where the test happens to keep it.
std::string ReportOf(const std::string& name) {
  const std::vector<std::string> paths = testing::WriteGoldenTraces(PLATEAU_GOLDEN_DIR, name);
  const auto recording = reader::OpenRecording(paths);
  if (!recording.ok()) return absl::StrCat(recording.status().message(), "\n");
  const auto model = BuildReport(*recording, {});
  std::string text = model.ok() ? absl::StrCat(WriteCard(*model), "\n", WriteTextReport(*model, {}))
                                : absl::StrCat(model.status().message(), "\n");
  return absl::StrReplaceAll(text, {{fs::path(paths.front()).parent_path().string(), "TEMPORARY"}});
}

class GoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, ReportIsAsExpected) {
  const fs::path expected = fs::path(PLATEAU_GOLDEN_DIR) / (GetParam() + ".report.txt");
  const std::string report = ReportOf(GetParam());
  if (std::getenv("PLATEAU_UPDATE_GOLDEN") != nullptr) std::ofstream(expected, std::ios::binary) << report;
  EXPECT_EQ(report, ReadFile(expected));
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTest, ::testing::ValuesIn(testing::GoldenCases(PLATEAU_GOLDEN_DIR)),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace plateau::report

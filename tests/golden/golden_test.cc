// Every NAME.trace.txt of this folder gives the report NAME.report.txt beside it: one case per verdict, one
// per kind of damage.
//
// PLATEAU_UPDATE_GOLDEN=1 writes the reports anew; look at the difference before committing it.
#include <gtest/gtest.h>

#include <algorithm>
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
#include "tests/support/trace_text.h"

namespace plateau::report {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTraceSuffix = ".trace.txt";
// Reports of attached programs have times of day.
[[maybe_unused]] const int kZone = setenv("TZ", "UTC", 1);

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(PLATEAU_GOLDEN_DIR)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(kTraceSuffix)) names.push_back(name.substr(0, name.size() - kTraceSuffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// What `plateau report` prints for this trace, without where the test happens to keep it.
std::string ReportOf(const std::string& name) {
  const std::string bytes =
      plateau::testing::TraceFromText(ReadFile(fs::path(PLATEAU_GOLDEN_DIR) / (name + ".trace.txt")));
  const std::string path = plateau::testing::WriteTemporary(name + ".plt", bytes);
  const auto recording = reader::OpenRecording({path});
  if (!recording.ok()) return absl::StrCat(recording.status().message(), "\n");
  const auto model = BuildReport(*recording, {});
  std::string text = model.ok() ? absl::StrCat(WriteCard(*model), "\n", WriteTextReport(*model, {}))
                                : absl::StrCat(model.status().message(), "\n");
  return absl::StrReplaceAll(text, {{fs::path(path).parent_path().string(), "TEMPORARY"}});
}

class GoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, ReportIsAsExpected) {
  const fs::path expected = fs::path(PLATEAU_GOLDEN_DIR) / (GetParam() + ".report.txt");
  const std::string report = ReportOf(GetParam());
  if (std::getenv("PLATEAU_UPDATE_GOLDEN") != nullptr) std::ofstream(expected, std::ios::binary) << report;
  EXPECT_EQ(report, ReadFile(expected));
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTest, ::testing::ValuesIn(CaseNames()),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace plateau::report

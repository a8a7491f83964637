// Writes the report pages of golden cases:  write_golden_pages DIRECTORY CASE...
#include <cstdio>
#include <fstream>
#include <string>

#include "analyzer/reader/recording.h"
#include "analyzer/report/builder/build_report.h"
#include "analyzer/report/page/html_report.h"
#include "tests/support/golden_cases.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: write_golden_pages DIRECTORY CASE...\n");
    return 2;
  }
  for (int i = 2; i < argc; ++i) {
    const std::string name = argv[i];
    const auto recording =
        plateau::reader::OpenRecording(plateau::testing::WriteGoldenTraces(PLATEAU_GOLDEN_DIR, name));
    if (!recording.ok()) {
      std::fprintf(stderr, "%s: %s\n", argv[i], std::string(recording.status().message()).c_str());
      return 1;
    }
    auto model = plateau::report::BuildReport(*recording, {});
    if (!model.ok()) {
      std::fprintf(stderr, "%s: %s\n", argv[i], std::string(model.status().message()).c_str());
      return 1;
    }
    std::ofstream(std::string(argv[1]) + "/" + name + ".html", std::ios::binary)
        << plateau::report::WriteHtmlReport(*model);
  }
  return 0;
}

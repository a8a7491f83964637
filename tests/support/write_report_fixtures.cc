// Writes the reports of the simulated runs, for tests that need files and for screenshots:
//   write_report_fixtures DIRECTORY [big]
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include "analyzer/report/json/json_report.h"
#include "analyzer/report/page/html_report.h"
#include "tests/support/report_fixtures.h"

int main(int argc, char** argv) {
  using namespace plateau::report;
  if (argc < 2) {
    std::fprintf(stderr, "usage: write_report_fixtures DIRECTORY [big]\n");
    return 2;
  }
  const std::string directory = argv[1];
  auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(directory + "/" + name, std::ios::binary) << text;
  };
  if (argc > 2 && std::string(argv[2]) == "big") {
    const ReportModel model = BigModel(10000, 100000);
    const auto start = std::chrono::steady_clock::now();
    const std::string page = WriteHtmlReport(model);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    write("big.html", page);
    std::printf("big.html: %zu stack nodes, %zu sites, %zu readings, %.2f MiB page in %.2f s\n",
                model.stacks.size(), model.sites.size(), model.ledger.size(), page.size() / 1048576.0,
                seconds);
    return 0;
  }
  for (const auto& [name, model] : AllModels()) {
    write(name + ".html", WriteHtmlReport(model));
    write(name + ".json", WriteJsonReport(model));
  }
  return 0;
}

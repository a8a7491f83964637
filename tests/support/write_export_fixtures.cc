// Writes every export of a simulated leak, and the JSON of all simulated runs, for readers that are not ours:
//   write_export_fixtures DIRECTORY
#include <cstdio>
#include <fstream>
#include <string>

#include "analyzer/report/export/csv_export.h"
#include "analyzer/report/export/perfetto_export.h"
#include "analyzer/report/export/pprof_export.h"
#include "analyzer/report/export/sqlite_export.h"
#include "analyzer/report/export/stack_text_export.h"
#include "analyzer/report/json/json_report.h"
#include "tests/support/report_fixtures.h"

int main(int argc, char** argv) {
  using namespace plateau::report;
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_export_fixtures DIRECTORY\n");
    return 2;
  }
  const std::string directory = argv[1];
  auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(directory + "/" + name, std::ios::binary) << text;
  };
  const ReportModel model = HostileModel();
  write("export.pb.gz", WritePprof(model).value());
  write("export.folded", WriteFolded(model, StackMetric::kRetained));
  write("export.speedscope.json", WriteSpeedscope(model));
  write("export.perfetto-trace", WritePerfetto(model));
  write("export.csv", WriteCsv(model, "sites").value());
  if (!WriteSqlite(model, directory + "/export.sqlite").ok()) return 1;
  JsonOptions full;
  full.include_stacks = true;
  write("full.json", WriteJsonReport(LeakModel(), full));
  for (const auto& [name, each] : AllModels()) write(name + ".json", WriteJsonReport(each));
  return 0;
}

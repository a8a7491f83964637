// A bundle or a JSON report from outside: refused or read, never trusted. What is read must survive every
// writer.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "analyzer/report/bundle/bundle.h"
#include "analyzer/report/bundle/tar_archive.h"
#include "analyzer/report/json/json_report.h"
#include "analyzer/report/page/html_report.h"
#include "analyzer/report/text/card.h"
#include "analyzer/report/text/text_report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plateau::report;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)UnpackArchive(bytes, /*max_bytes=*/1 << 24);
  const absl::StatusOr<ReportModel> model = ReadJsonReport(bytes);
  if (!model.ok()) return 0;
  (void)WriteCard(*model);
  (void)WriteTextReport(*model, TableOptions());
  (void)WriteCallTree(*model, TreeOptions());
  (void)WriteHtmlReport(*model);
  return 0;
}

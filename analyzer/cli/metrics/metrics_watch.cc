#include "analyzer/cli/metrics/metrics_watch.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "analyzer/base/output_file.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/metrics/metrics_server.h"
#include "analyzer/report/metrics/open_metrics.h"

namespace plateau::cli {
namespace {

absl::Status Write(const std::string& where, const std::string& text) {
  if (where != "-") return WriteWholeFile(where, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return absl::DataLossError("stdout: cannot write");
  return absl::OkStatus();
}

}  // namespace

absl::Status WatchMetrics(const MetricsRun& run, const std::string& where, double interval_seconds) {
  // Read once before anything is opened, so that a wrong name is an ordinary message.
  PLATEAU_ASSIGN_OR_RETURN(report::ReportModel model, run.read());
  std::unique_ptr<MetricsServer> server;
  if (const auto address = ParseListenAddress(where)) {
    PLATEAU_ASSIGN_OR_RETURN(server, MetricsServer::Listen(*address));
    absl::FPrintF(stderr, "plateau: metrics at %s\n", server->url());
  }
  report::LookState look;
  while (true) {
    look.is_running = run.is_running();
    const absl::Time started = absl::Now();
    absl::StatusOr<report::ReportModel> read = run.read();
    if (read.ok()) {
      model = *std::move(read);
    } else {
      ++look.failed_looks;
    }
    look.time_seconds = static_cast<double>(absl::ToUnixMillis(started)) * 1e-3;
    std::string text = report::WriteOpenMetrics(model, look);
    if (server != nullptr) {
      server->Publish(std::move(text));
    } else {
      PLATEAU_RETURN_IF_ERROR(Write(where, text));
    }
    if (!look.is_running) return absl::OkStatus();
    // Reading a long recording takes time too: never spend more than a third of it on looking.
    absl::SleepFor(std::max(absl::Seconds(interval_seconds), 2 * (absl::Now() - started)));
  }
}

}  // namespace plateau::cli

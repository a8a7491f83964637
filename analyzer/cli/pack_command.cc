// `plateau pack`: makes finished traces small.
#include <string>

#include "absl/strings/str_format.h"
#include "analyzer/base/human_units.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/reader/recording.h"
#include "analyzer/reader/trace_packer.h"

namespace plateau::cli {
namespace {

// What the bytes of the packed trace are spent on.
void PrintCosts(const reader::PackResult& packed) {
  for (size_t i = 0; i < kColumns; ++i) {
    if (packed.costs[i] == 0) continue;
    absl::PrintF("  %-20s %12d bytes  %7.3f bits a record\n", reader::ColumnName(i), packed.costs[i],
                 8 * static_cast<double>(packed.costs[i]) / static_cast<double>(packed.records));
  }
}

absl::StatusOr<int> RunPack(const Arguments& arguments) {
  reader::PackOptions options;
  options.count_costs = arguments.Has("explain");
  PLATEAU_ASSIGN_OR_RETURN(const reader::Recording recording, reader::OpenRecording(arguments.positional()));
  absl::Status first_error;
  for (const reader::TraceFile& trace : recording.traces) {
    const auto packed = reader::PackTrace(trace.path, options);
    if (!packed.ok()) {
      absl::FPrintF(stderr, "%s\n", std::string(packed.status().message()));
      if (first_error.ok()) first_error = packed.status();
      continue;
    }
    if (packed->is_running) {
      absl::PrintF("%s: its process is still running, left as it is\n", trace.path);
    } else if (packed->was_packed) {
      absl::PrintF("%s: packed already\n", trace.path);
    } else {
      absl::PrintF("%s: %s -> %s\n", trace.path, FormatBytes(static_cast<double>(packed->bytes_before)),
                   FormatBytes(static_cast<double>(packed->bytes_after)));
      if (options.count_costs) PrintCosts(*packed);
    }
  }
  return first_error.ok() ? static_cast<int>(kExitOk) : static_cast<int>(ExitCodeFor(first_error));
}

}  // namespace

const Command& PackCommand() {
  static const Command command = {
      .name = "pack",
      .usage = "RECORDING...",
      .summary = "Make the finished traces of a recording small.",
      .description =
          "Nothing is lost: every record can be read as before. A trace is replaced in one step when its "
          "packed form is complete, "
          "so an interrupted pack leaves it as it was. Traces of running processes and damaged ones are left "
          "alone. "
          "`plateau run` does this by itself with traces of up to 32 MiB. A core packs "
          "some 60 to 100 MB a second and reads what is packed at three times that.",
      .options = {{.name = "explain", .help = "Print what the bytes of each packed trace are spent on."}},
      .examples = {{"plateau pack plateau-train-*/", "after recording with LD_PRELOAD alone"}},
      .min_positional = 1,
      .run = RunPack};
  return command;
}

}  // namespace plateau::cli

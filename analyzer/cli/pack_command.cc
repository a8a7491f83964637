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

absl::StatusOr<int> RunPack(const Arguments& arguments) {
  reader::PackOptions options;
  PLATEAU_ASSIGN_OR_RETURN(const int64_t level, arguments.Integer("level", options.level));
  if (level < 1 || level > 22) return absl::InvalidArgumentError("--level: between 1 and 22");
  options.level = static_cast<int>(level);
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
          "`plateau run` does this by itself.",
      .options = {{.name = "level", .value = "N", .help = "zstd's level, 1 to 22.", .default_value = "9"}},
      .examples = {{"plateau pack plateau-train-*/", "after recording with LD_PRELOAD alone"}},
      .min_positional = 1,
      .run = RunPack};
  return command;
}

}  // namespace plateau::cli

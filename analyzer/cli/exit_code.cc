#include "analyzer/cli/exit_code.h"

namespace plateau::cli {

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kDataLoss:
      return kExitNoRecording;
    case absl::StatusCode::kUnimplemented:
      return kExitNewerVersion;
    default:
      return kExitIo;
  }
}

}  // namespace plateau::cli

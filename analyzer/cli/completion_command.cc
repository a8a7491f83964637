// `plateau completion`: scripts for shells, and the man page.
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/completion.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/load_report.h"

namespace plateau::cli {
namespace {

absl::StatusOr<int> RunCompletion(const Arguments& arguments) {
  const std::string& what = arguments.positional()[0];
  std::string text;
  if (what == "bash") {
    text = BashCompletion();
  } else if (what == "zsh") {
    text = ZshCompletion();
  } else if (what == "man") {
    text = ManPage();
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("plateau completion: \"", what, "\" is not bash, zsh or man"));
  }
  PLATEAU_RETURN_IF_ERROR(WriteOutput("-", text));
  return kExitOk;
}

}  // namespace

const Command& CompletionCommand() {
  static const Command command = {
      .name = "completion",
      .usage = "bash|zsh|man",
      .summary = "Print the completion script of a shell, or the man page.",
      .examples = {{"source <(plateau completion bash)", "complete commands and options in this shell"},
                   {"plateau completion man | man -l -", "read the man page without installing it"}},
      .min_positional = 1,
      .max_positional = 1,
      .run = RunCompletion};
  return command;
}

}  // namespace plateau::cli

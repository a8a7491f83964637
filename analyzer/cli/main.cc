// The `plateau` program: finds the command, parses its arguments, runs it, and turns a status into text and
// an exit code.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/closest_word.h"
#include "analyzer/cli/arguments.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/help.h"

namespace plateau::cli {
namespace {

absl::StatusOr<int> Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

absl::Status UnknownCommand(const std::string& name) {
  std::vector<std::string> known;
  for (const Command* command : CommandTable()) known.emplace_back(command->name);
  return absl::InvalidArgumentError(absl::StrCat("plateau: unknown command '", name, "'",
                                                 DidYouMean(name, known), " (see `plateau --help`)"));
}

absl::StatusOr<int> RunHelp(const std::vector<std::string>& words) {
  if (words.empty()) return Print(OverviewText());
  if (words[0] == "--markdown") return Print(MarkdownReference());
  const Command* command = FindCommand(words[0]);
  if (command == nullptr) return UnknownCommand(words[0]);
  return Print(CommandHelpText(*command));
}

absl::StatusOr<int> Dispatch(std::vector<std::string> words) {
  if (words.empty()) {
    std::fputs(OverviewText().c_str(), stderr);
    return kExitUsage;
  }
  const std::string name = words[0];
  words.erase(words.begin());
  if (name == "--help" || name == "-h" || name == "help") return RunHelp(words);
  if (name == "--version" || name == "-V" || name == "version") return Print(VersionText());
  const Command* command = FindCommand(name);
  if (command == nullptr) return UnknownCommand(name);
  absl::StatusOr<Arguments> arguments = Arguments::Parse(*command, words);
  if (!arguments.ok()) return arguments.status();
  if (arguments->wants_help()) return Print(CommandHelpText(*command));
  return command->run(*arguments);
}

}  // namespace
}  // namespace plateau::cli

int main(int argc, char** argv) {
  using namespace plateau::cli;
  const absl::StatusOr<int> result = Dispatch(std::vector<std::string>(argv + 1, argv + argc));
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", std::string(result.status().message()).c_str());
    return ExitCodeFor(result.status());
  }
  // A full disk shows up here at the latest.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::fprintf(stderr, "plateau: writing the output failed\n");
    return *result == kExitOk ? static_cast<int>(kExitIo) : *result;
  }
  return *result;
}

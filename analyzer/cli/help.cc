#include "analyzer/cli/help.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "preload/trace/format.h"

namespace plateau::cli {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kHelpColumn = 26;

// Breaks `text` at spaces; lines after the first start with `indent` spaces.
std::string Wrap(const std::string& text, size_t start_column, size_t indent) {
  std::string out;
  size_t column = start_column;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (column > indent && column + 1 + word.size() > kColumns) {
      absl::StrAppend(&out, "\n", std::string(indent, ' '));
      column = indent;
    } else if (column > start_column || !out.empty()) {
      out += ' ';
      ++column;
    }
    out.append(word.data(), word.size());
    column += word.size();
  }
  return out;
}

std::string OptionLine(const Option& option) {
  std::string left = option.letter ? absl::StrCat("  -", std::string(1, option.letter), ", ") : "      ";
  absl::StrAppend(&left, "--", option.name);
  if (option.value != nullptr) absl::StrAppend(&left, "=", option.value);
  std::string help = option.help;
  if (option.default_value != nullptr) absl::StrAppend(&help, " Defaults to ", option.default_value, ".");
  if (left.size() + 2 > kHelpColumn) {
    absl::StrAppend(&left, "\n", std::string(kHelpColumn, ' '));
  } else {
    left.resize(kHelpColumn, ' ');
  }
  return left + Wrap(help, kHelpColumn, kHelpColumn) + "\n";
}

}  // namespace

std::string VersionText() {
  return absl::StrFormat("plateau %s (reads traces up to version %d.%d)\n", PLATEAU_VERSION,
                         trace::kVersionMajor, trace::kVersionMinor);
}

std::string OverviewText() {
  std::string out =
      "plateau: is it a leak, and if not, what is it, when does it stop, and which line holds the bytes?\n\n"
      "Usage: plateau COMMAND [OPTIONS] ...\n\n"
      "Commands:\n";
  for (const Command* command : CommandTable()) {
    absl::StrAppendFormat(&out, "  %-10s %s\n", command->name, Wrap(command->summary, 13, 13));
  }
  absl::StrAppend(&out,
                  "\nExamples:\n"
                  "  plateau run -- python train.py      trace a training run, then print the verdict\n"
                  "  plateau report plateau-train-*/     the verdict again, with tables\n"
                  "  plateau help run                    what a command can do\n\n"
                  "Exit codes: 0 done, 1 a check failed, 2 wrong usage, 3 input missing or not a recording,\n"
                  "4 recording from a newer version, 5 I/O error. `run` returns the program's own code.\n");
  return out;
}

std::string CommandHelpText(const Command& command) {
  std::string out = absl::StrCat("Usage: plateau ", command.name);
  if (!command.options.empty()) absl::StrAppend(&out, " [OPTIONS]");
  if (*command.usage != '\0') absl::StrAppend(&out, " ", command.usage);
  absl::StrAppend(&out, "\n\n", Wrap(command.summary, 0, 0), "\n");
  if (*command.description != '\0') {
    for (const absl::string_view paragraph : absl::StrSplit(command.description, "\n\n")) {
      absl::StrAppend(&out, "\n", Wrap(std::string(paragraph), 0, 0), "\n");
    }
  }
  absl::StrAppend(&out, "\nOptions:\n");
  for (const Option& option : command.options) out += OptionLine(option);
  out += OptionLine({.name = "help", .letter = 'h', .help = "Print this help."});
  if (!command.examples.empty()) {
    absl::StrAppend(&out, "\nExamples:\n");
    for (const Example& example : command.examples) {
      absl::StrAppend(&out, "  ", example.line, "\n      ", Wrap(example.meaning, 6, 6), "\n");
    }
  }
  return out;
}

std::string MarkdownReference() {
  std::string out =
      "# Command line reference\n\nPrinted by `plateau help --markdown` from the command descriptions; a "
      "test keeps this page equal to the "
      "program.\n\n```\n" +
      OverviewText() + "```\n";
  for (const Command* command : CommandTable()) {
    absl::StrAppend(&out, "\n## plateau ", command->name, "\n\n```\n", CommandHelpText(*command), "```\n");
  }
  return out;
}

}  // namespace plateau::cli

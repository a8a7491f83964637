#include "analyzer/cli/completion.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "analyzer/cli/command.h"

namespace plateau::cli {
namespace {

bool TakesFile(const Option& option) {
  return option.value != nullptr &&
         (absl::StrContains(option.value, "FILE") || absl::StrContains(option.value, "DIR"));
}

// Inside single quotes of a shell, with what zsh's _arguments reads as syntax escaped.
std::string ZshText(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

// Plain text for roff: a leading dot or quote would be a request, a backslash an escape.
std::string Roff(absl::string_view text) {
  std::string out = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"`", "\\(ga"}});
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out.insert(0, "\\&");
  return out;
}

}  // namespace

std::string BashCompletion() {
  std::vector<std::string> names;
  std::string cases;
  for (const Command* command : CommandTable()) {
    names.emplace_back(command->name);
    std::vector<std::string> options = {"--help"};
    for (const Option& option : command->options) options.push_back(absl::StrCat("--", option.name));
    absl::StrAppend(&cases, "    ", command->name, ") words=\"", absl::StrJoin(options, " "), "\" ;;\n");
  }
  return absl::StrCat(R"(# bash completion for plateau
_plateau() {
  local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words=
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "help version )",
                      absl::StrJoin(names, " "), R"(" -- "$current"))
    return
  fi
  case $command in
    help) words=")",
                      absl::StrJoin(names, " "), R"(" ;;
)",
                      cases, R"(  esac
  if [[ $current == -* || $command == help ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _plateau plateau
)");
}

std::string ZshCompletion() {
  std::string out =
      "#compdef plateau\n# zsh completion for plateau\n_plateau() {\n  local -a commands\n  commands=(\n";
  for (const Command* command : CommandTable()) {
    absl::StrAppend(&out, "    '", command->name, ":", ZshText(command->summary), "'\n");
  }
  absl::StrAppend(&out,
                  "  )\n  if (( CURRENT == 2 )); then\n    _describe 'command' commands\n    return\n  fi\n"
                  "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n");
  for (const Command* command : CommandTable()) {
    absl::StrAppend(&out, "    ", command->name, ")\n      _arguments");
    for (const Option& option : command->options) {
      absl::StrAppend(&out, " \\\n        '", option.repeated ? "*" : "", "--", option.name,
                      option.value != nullptr ? "=" : "", "[", ZshText(option.help), "]");
      if (option.value != nullptr)
        absl::StrAppend(&out, ":", ZshText(option.value), ":", TakesFile(option) ? "_files" : "");
      absl::StrAppend(&out, "'");
    }
    absl::StrAppend(&out, " \\\n        '*:argument:_files' ;;\n");
  }
  return absl::StrCat(out, "  esac\n}\n_plateau \"$@\"\n");
}

std::string ManPage() {
  std::string out =
      ".TH PLATEAU 1 \"\" \"Plateau\" \"User commands\"\n.SH NAME\nplateau \\- say whether growing memory is "
      "a leak, and which "
      "line of code holds it\n.SH SYNOPSIS\n.B plateau\n.I COMMAND\n[OPTIONS] ...\n.SH DESCRIPTION\n"
      "Plateau records the allocations of a training run and says what its memory does: leak, warm\\-up, "
      "cache fill, "
      "fragmentation, or undecided yet.\n.SH COMMANDS\n";
  for (const Command* command : CommandTable()) {
    absl::StrAppend(&out, ".SS plateau ", Roff(command->name), " [OPTIONS] ", Roff(command->usage), "\n",
                    Roff(command->summary), "\n");
    for (absl::string_view paragraph : absl::StrSplit(command->description, "\n\n", absl::SkipEmpty())) {
      absl::StrAppend(&out, ".PP\n", Roff(paragraph), "\n");
    }
    for (const Option& option : command->options) {
      absl::StrAppend(&out, ".TP\n.B ");
      if (option.letter != 0) absl::StrAppend(&out, "\\-", std::string(1, option.letter), ", ");
      absl::StrAppend(
          &out, "\\-\\-", Roff(option.name),
          option.value != nullptr ? absl::StrCat("=", Roff(option.value)) : "", "\n", Roff(option.help),
          option.default_value != nullptr ? absl::StrCat(" Defaults to ", Roff(option.default_value), ".")
                                          : "",
          "\n");
    }
    for (const Example& example : command->examples) {
      absl::StrAppend(&out, ".PP\n.EX\n", Roff(example.line), "\n.EE\n", Roff(example.meaning), "\n");
    }
  }
  return absl::StrCat(out,
                      ".SH EXIT STATUS\n0 done; 1 a check failed; 2 wrong usage; 3 input missing or not a "
                      "recording; 4 recording from a "
                      "newer version; 5 I/O error. The command run returns the program's own code.\n.SH SEE "
                      "ALSO\nThe documents in "
                      "the folder docs of the source tree.\n");
}

}  // namespace plateau::cli

// One description per command. --help, the shell completion, docs/cli.md and the parser all read it, so none
// of them can say something else than the others.
//
//   const Command& DumpCommand() {
//     static const Command command = {
//         .name = "dump", .usage = "RECORDING...", .summary = "Print the records of a trace as text.",
//         .options = {{.name = "stats", .help = "Only count the records of each kind."},
//                     {.name = "limit", .value = "N", .help = "Stop after N records.", .default_value = "no
//                     limit"}},
//         .examples = {{"plateau dump rec/", "every record of every process"}},
//         .run = RunDump};
//     return command;
//   }
//
// Add the function to command_table.cc and the file to CMakeLists.txt. `run` returns an exit code of
// exit_code.h, or a status that main.cc prints and maps to one; commands print their result on stdout and
// nothing else there.
#ifndef PLATEAU_ANALYZER_CLI_COMMAND_H_
#define PLATEAU_ANALYZER_CLI_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/cli/arguments.h"

namespace plateau::cli {

struct Option {
  const char* name;                     // without the dashes
  char letter = 0;                      // short form, 0 for none
  const char* value = nullptr;          // what follows, e.g. "FILE"; nullptr: a switch
  const char* help = "";                // one or two sentences
  const char* default_value = nullptr;  // printed as "Defaults to ..."
  bool repeated = false;                // may be given more than once
};

struct Example {
  const char* line;
  const char* meaning;
};

struct Command {
  const char* name;
  const char* usage = "";        // what follows the name and the options, e.g. "RECORDING..."
  const char* summary = "";      // one sentence
  const char* description = "";  // paragraphs, separated by empty lines; may be empty
  std::vector<Option> options;
  std::vector<Example> examples;
  int min_positional = 0;
  int max_positional = -1;     // -1: any number
  bool takes_program = false;  // everything from the first positional or after `--` is a command line (`run`)
  absl::StatusOr<int> (*run)(const Arguments& arguments) = nullptr;
};

// Every command, in the order of the help.
const std::vector<const Command*>& CommandTable();
// nullptr when there is none of that name.
const Command* FindCommand(const std::string& name);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_COMMAND_H_

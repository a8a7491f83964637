#include <string>
#include <vector>

#include "analyzer/cli/command.h"

namespace plateau::cli {

// One line per command; each lives in NAME_command.cc.
const Command& RunCommand();
const Command& ReportCommand();
const Command& SitesCommand();
const Command& PackCommand();
const Command& DoctorCommand();
const Command& DumpCommand();
const Command& VerdictCommand();

const std::vector<const Command*>& CommandTable() {
  static const std::vector<const Command*> table = {
      &RunCommand(),    &ReportCommand(), &SitesCommand(),   &PackCommand(),
      &DoctorCommand(), &DumpCommand(),   &VerdictCommand(),
  };
  return table;
}

const Command* FindCommand(const std::string& name) {
  for (const Command* command : CommandTable()) {
    if (name == command->name) return command;
  }
  return nullptr;
}

}  // namespace plateau::cli

#include <string>
#include <vector>

#include "analyzer/cli/command.h"

namespace plateau::cli {

// One line per command; each lives in NAME_command.cc.
const Command& RunCommand();
const Command& ReportCommand();
const Command& SitesCommand();
const Command& WatchCommand();
const Command& HoldersCommand();
const Command& DiffCommand();
const Command& CheckCommand();
const Command& ExportCommand();
const Command& FleetCommand();
const Command& BundleCommand();
const Command& PackCommand();
const Command& AttachCommand();
const Command& DetachCommand();
const Command& DoctorCommand();
const Command& DumpCommand();
const Command& VerdictCommand();
const Command& CompletionCommand();

const std::vector<const Command*>& CommandTable() {
  static const std::vector<const Command*> table = {
      &RunCommand(),     &AttachCommand(),     &DetachCommand(), &ReportCommand(), &SitesCommand(),
      &WatchCommand(),   &HoldersCommand(),    &DiffCommand(),   &CheckCommand(),  &ExportCommand(),
      &FleetCommand(),   &BundleCommand(),     &PackCommand(),   &DoctorCommand(), &DumpCommand(),
      &VerdictCommand(), &CompletionCommand(),
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

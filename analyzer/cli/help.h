// Help texts, made from the command descriptions.
#ifndef PLATEAU_ANALYZER_CLI_HELP_H_
#define PLATEAU_ANALYZER_CLI_HELP_H_

#include <string>

#include "analyzer/cli/command.h"

namespace plateau::cli {

std::string VersionText();
std::string OverviewText();
std::string CommandHelpText(const Command& command);
// docs/cli.md: every help text on one page.
std::string MarkdownReference();

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_HELP_H_

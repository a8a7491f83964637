// Shell completion and the man page, made from the command table so that neither can lag behind it.
#ifndef PLATEAU_ANALYZER_CLI_COMPLETION_H_
#define PLATEAU_ANALYZER_CLI_COMPLETION_H_

#include <string>

namespace plateau::cli {

std::string BashCompletion();
std::string ZshCompletion();
std::string ManPage();  // roff, section 1

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_COMPLETION_H_

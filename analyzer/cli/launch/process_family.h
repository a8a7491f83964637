// A process and all that descend from it, as /proc has them now.
//
// A process that ends meanwhile is left out. Never signals anything by name.
#ifndef PLATEAU_ANALYZER_CLI_LAUNCH_PROCESS_FAMILY_H_
#define PLATEAU_ANALYZER_CLI_LAUNCH_PROCESS_FAMILY_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plateau::cli {

// `root` first, then its descendants; empty when it is gone.
std::vector<pid_t> FamilyOf(pid_t root);

// Resident bytes of all of them; pages that they share count once for each.
uint64_t ResidentBytes(const std::vector<pid_t>& family);

// Whether the process has a handler for the signal, so that it does not simply end it.
bool Catches(pid_t pid, int signal);

// "USR1", "SIGUSR1" or "10".
std::optional<int> ParseSignal(const std::string& name);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_LAUNCH_PROCESS_FAMILY_H_

#include "analyzer/cli/launch/process_family.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace plateau::cli {
namespace {

std::string TextOf(pid_t pid, const char* file) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/", file));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The parent's number stands behind the name, which may hold spaces and brackets. Zombies have none: they hold nothing.
std::optional<pid_t> ParentOf(pid_t pid) {
  const std::string stat = TextOf(pid, "stat");
  const size_t end = stat.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream rest(stat.substr(end + 1));
  char state = 0;
  pid_t parent = 0;
  if (!(rest >> state >> parent) || state == 'Z' || state == 'X') return std::nullopt;
  return parent;
}

}  // namespace

std::vector<pid_t> FamilyOf(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  bool is_alive = false;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return {};
  while (const dirent* entry = readdir(proc)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) continue;
    const std::optional<pid_t> parent = ParentOf(pid);
    if (!parent) continue;
    is_alive = is_alive || pid == root;
    children.emplace(*parent, pid);
  }
  closedir(proc);
  std::vector<pid_t> family;
  if (!is_alive) return family;
  family.push_back(root);
  for (size_t i = 0; i < family.size(); ++i) {
    const auto [first, last] = children.equal_range(family[i]);
    for (auto it = first; it != last; ++it) family.push_back(it->second);
  }
  return family;
}

uint64_t ResidentBytes(const std::vector<pid_t>& family) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t pages = 0;
  for (const pid_t pid : family) {
    std::istringstream statm(TextOf(pid, "statm"));
    uint64_t size = 0, resident = 0;
    if (statm >> size >> resident) pages += resident;
  }
  return pages * page;
}

bool Catches(pid_t pid, int signal) {
  const std::string status = TextOf(pid, "status");
  const size_t at = status.find("SigCgt:");
  uint64_t caught = 0;
  if (at == std::string::npos) return false;
  const size_t begin = status.find_first_not_of(" \t", at + 7);
  const size_t end = status.find('\n', at);
  if (begin == std::string::npos || !absl::SimpleHexAtoi(status.substr(begin, end - begin), &caught))
    return false;
  return signal > 0 && signal <= 64 && (caught >> (signal - 1) & 1) != 0;
}

std::optional<int> ParseSignal(const std::string& name) {
  int number = 0;
  if (absl::SimpleAtoi(name, &number))
    return number > 0 && number < NSIG ? std::optional<int>(number) : std::nullopt;
  absl::string_view word = name;
  if (absl::StartsWith(word, "SIG")) word.remove_prefix(3);
  static const std::map<absl::string_view, int> kNames = {
      {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"KILL", SIGKILL}, {"USR1", SIGUSR1},
      {"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"ALRM", SIGALRM}, {"CONT", SIGCONT}, {"STOP", SIGSTOP}};
  const auto found = kNames.find(word);
  return found == kNames.end() ? std::nullopt : std::optional<int>(found->second);
}

}  // namespace plateau::cli

#include "analyzer/cli/launch/memory_room.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/base/human_units.h"

namespace plateau::cli {
namespace {

// Beyond this a limit of cgroup v1 means none: it writes the largest number that fits its pages.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<uint64_t> NumberIn(const std::string& path) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(absl::string_view(TextOf(path)).substr(0, 30), &value)) return std::nullopt;
  return value;
}

// The number behind `key` in lines of "key 12" or "key: 12 kB".
uint64_t NumberOf(const std::string& text, absl::string_view key) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t:"), absl::SkipEmpty());
    uint64_t value = 0;
    if (words.size() >= 2 && words[0] == key && absl::SimpleAtoi(words[1], &value)) return value;
  }
  return 0;
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

std::string KillsInWords(const KillCounts& before, const KillCounts& after) {
  if (after.cgroup_kills > before.cgroup_kills) {
    const uint64_t killed = after.cgroup_kills - before.cgroup_kills;
    const uint64_t hits =
        after.cgroup_limit_hits - std::min(after.cgroup_limit_hits, before.cgroup_limit_hits);
    std::string out = absl::StrCat("out of memory: the kernel killed ", killed,
                                   killed == 1 ? " process" : " processes", " of the cgroup ", after.cgroup);
    if (after.cgroup_limit_bytes > 0)
      absl::StrAppend(&out, ", whose limit of ", FormatBytes(static_cast<double>(after.cgroup_limit_bytes)),
                      " was hit ", hits, hits == 1 ? " time" : " times");
    return out;
  }
  if (after.machine_kills > before.machine_kills)
    return "out of memory: the kernel killed a process of this machine meanwhile, for want of memory";
  return "";
}

MemoryRoom::MemoryRoom(std::string proc, const std::string& cgroups) : proc_(std::move(proc)) {
  const std::string membership = TextOf(proc_ + "/self/cgroup");
  for (const absl::string_view line : absl::StrSplit(membership, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const bool is_v2 = parts[1].empty();
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (!is_v2 && std::find(controllers.begin(), controllers.end(), "memory") == controllers.end()) continue;
    const std::string root = is_v2 ? cgroups : cgroups + "/memory";
    // From the group itself up to the root. In a container the path is that of the host, and only the root can be seen.
    for (std::string name = parts[2]; absl::StartsWith(name, "/");) {
      const std::string folder = name == "/" ? root : root + name;
      const char* file = is_v2 ? "/memory.current" : "/memory.usage_in_bytes";
      if (IsFolder(folder) && NumberIn(folder + file)) groups_.push_back({folder, name, is_v2});
      if (name == "/" || name.find("..") != std::string::npos) break;
      name.resize(std::max<size_t>(name.rfind('/'), 1));
    }
  }
}

MemoryUse MemoryRoom::UseOf(const Group& group) const {
  MemoryUse use;
  use.whose = "the cgroup " + group.name;
  const std::string stat = TextOf(group.folder + "/memory.stat");
  const uint64_t reclaimable = NumberOf(stat, group.is_v2 ? "inactive_file" : "total_inactive_file");
  const uint64_t used =
      NumberIn(group.folder + (group.is_v2 ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0);
  use.used_bytes = used - std::min(used, reclaimable);
  // "max" of v2 is no number.
  const uint64_t limit =
      NumberIn(group.folder + (group.is_v2 ? "/memory.max" : "/memory.limit_in_bytes")).value_or(0);
  use.limit_bytes = limit < kNoLimit ? limit : 0;
  return use;
}

MemoryUse MemoryRoom::Now() const {
  const std::string machine = TextOf(proc_ + "/meminfo");
  MemoryUse nearest;
  nearest.whose = "the machine";
  nearest.limit_bytes = NumberOf(machine, "MemTotal") * 1024;
  nearest.used_bytes =
      nearest.limit_bytes - std::min(nearest.limit_bytes, NumberOf(machine, "MemAvailable") * 1024);
  for (const Group& group : groups_) {
    MemoryUse use = UseOf(group);
    if (use.limit_bytes > 0 && use.UsedShare() > nearest.UsedShare()) nearest = std::move(use);
  }
  return nearest;
}

KillCounts MemoryRoom::Kills() const {
  KillCounts counts;
  counts.machine_kills = NumberOf(TextOf(proc_ + "/vmstat"), "oom_kill");
  for (const Group& group : groups_) {
    const std::string events =
        TextOf(group.folder + (group.is_v2 ? "/memory.events" : "/memory.oom_control"));
    const uint64_t kills = NumberOf(events, "oom_kill");
    counts.cgroup_kills += kills;
    const MemoryUse use = UseOf(group);
    if (use.limit_bytes == 0 || counts.cgroup_limit_bytes > 0) continue;
    counts.cgroup = group.name;
    counts.cgroup_limit_bytes = use.limit_bytes;
    counts.cgroup_limit_hits =
        group.is_v2 ? NumberOf(events, "max") : NumberIn(group.folder + "/memory.failcnt").value_or(0);
  }
  if (counts.cgroup.empty() && !groups_.empty()) counts.cgroup = groups_.front().name;
  return counts;
}

}  // namespace plateau::cli

// How much memory the program may still have, and whether the kernel killed for want of it: cgroup v2, cgroup v1, the machine.
//
//   const MemoryRoom room;                       // of this process's own cgroup, which its children share
//   room.Now().UsedShare();                      // 0.93 of the tightest limit
//   const KillCounts before = room.Kills(); ...; KillsInWords(before, room.Kills());
//
// Reads small files of the kernel; one that is missing or reads oddly counts as no limit. Thread-safe.
#ifndef PLATEAU_ANALYZER_CLI_LAUNCH_MEMORY_ROOM_H_
#define PLATEAU_ANALYZER_CLI_LAUNCH_MEMORY_ROOM_H_

#include <cstdint>
#include <string>
#include <vector>

namespace plateau::cli {

struct MemoryUse {
  uint64_t used_bytes = 0;   // without what the kernel can take back at once
  uint64_t limit_bytes = 0;  // 0: no limit is known
  std::string whose;         // "the cgroup /job", "the machine"

  double UsedShare() const {
    return limit_bytes == 0 ? 0 : static_cast<double>(used_bytes) / static_cast<double>(limit_bytes);
  }
};

// What the kernel counts since the cgroup was made, or since the machine was started.
struct KillCounts {
  uint64_t cgroup_kills = 0;
  uint64_t cgroup_limit_hits = 0;
  uint64_t machine_kills = 0;
  std::string cgroup;  // "/job"; empty without one
  uint64_t cgroup_limit_bytes = 0;
};

// "out of memory: the kernel killed 1 process of the cgroup /job, whose limit of 1.00 GiB was hit 12 times", or "".
std::string KillsInWords(const KillCounts& before, const KillCounts& after);

class MemoryRoom {
 public:
  // `proc` and `cgroups` are /proc and /sys/fs/cgroup, but for tests.
  explicit MemoryRoom(std::string proc = "/proc", const std::string& cgroups = "/sys/fs/cgroup");

  // Of the limit that is nearest.
  MemoryUse Now() const;
  KillCounts Kills() const;

 private:
  struct Group {
    std::string folder;
    std::string name;
    bool is_v2;
  };
  MemoryUse UseOf(const Group& group) const;

  std::string proc_;
  std::vector<Group> groups_;  // this process's own and those above it that can be seen
};

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_LAUNCH_MEMORY_ROOM_H_

#include "analyzer/cli/attach/attached_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/attach/stopped_threads.h"
#include "preload/trace/format.h"

namespace plateau::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxProcesses = 4096;

// The effective one of "Uid: real effective saved filesystem".
bool EffectiveId(const TargetProcess& target, const char* field, uint32_t* id) {
  const std::vector<std::string> ids =
      absl::StrSplit(target.Status(field), absl::ByAnyChar("\t "), absl::SkipEmpty());
  return ids.size() > 1 && absl::SimpleAtoi(ids[1], id);
}

std::string DefaultName(const TargetProcess& target) {
  char when[32];
  const time_t now = time(nullptr);
  tm local;
  strftime(when, sizeof(when), "%Y%m%d-%H%M%S", localtime_r(&now, &local));
  return absl::StrCat("plateau-", target.Status("Name"), "-", target.pid(), "-", when);
}

// Links are not followed, but for those of the kernel.
int OpenTrace(const std::string& path, int flags) {
  return open(path.c_str(), flags | O_CLOEXEC | (absl::StrContains(path, "/map_files/") ? 0 : O_NOFOLLOW));
}

bool ReadHeader(int fd, trace::FileHeader* header) {
  return pread(fd, header, sizeof(*header), 0) == static_cast<ssize_t>(sizeof(*header)) &&
         memcmp(header->magic, trace::kFileMagic, sizeof(header->magic)) == 0;
}
bool ReadHeader(const std::string& path, trace::FileHeader* header) {
  const int fd = OpenTrace(path, O_RDONLY);
  const bool is_read = fd >= 0 && ReadHeader(fd, header);
  if (fd >= 0) close(fd);
  return is_read;
}

trace::AttachState StateOf(int fd) {
  trace::FileHeader header;
  return ReadHeader(fd, &header) ? static_cast<trace::AttachState>(header.attach_state)
                                 : trace::AttachState::kFromStart;
}

// Makes the next event of the process a tick: a second earlier than it would be. The word must be the library's.
void HurryTick(TargetProcess& target, uint64_t address) {
  TargetModules modules;
  if (address == 0 || address % 8 != 0 || !target.OpenMemory().ok() || !modules.Load(target).ok()) return;
  for (const TargetModule& module : modules.all()) {
    if (!module.Contains(address) || modules.Find(target, module, "plateau_attach") == 0) continue;
    const uint64_t zero = 0;
    target.Write(address, &zero, sizeof(zero));
  }
}

}  // namespace

absl::StatusOr<RecordingPlace> MakePlace(const TargetProcess& target, const Suitability& found,
                                         const std::string& wanted) {
  RecordingPlace place;
  const std::string root = found.has_other_root ? target.Proc("root") : "";
  if (found.has_other_root) {
    if (!wanted.empty() && wanted[0] != '/')
      return absl::InvalidArgumentError(
          "--out: the program has another root; give a path that begins with / there");
    place.inside = wanted.empty() ? absl::StrCat("/tmp/", DefaultName(target)) : wanted;
  } else {
    place.inside = fs::absolute(wanted.empty() ? DefaultName(target) : wanted).lexically_normal().string();
  }
  place.outside = root + place.inside;
  std::error_code error;
  fs::create_directories(fs::path(place.outside).parent_path(), error);
  if (mkdir(place.outside.c_str(), 0700) != 0 && (errno != EEXIST || !fs::is_directory(place.outside)))
    return absl::ErrnoToStatus(
        errno, absl::StrCat(place.outside, ": no recording can be made there (another place: -o DIR)"));
  // The program writes it, so it belongs to the program's user.
  uint32_t user = 0, group = 0;
  if (geteuid() == 0 && EffectiveId(target, "Uid", &user) && EffectiveId(target, "Gid", &group) &&
      (user != 0 || group != 0)) {
    if (lchown(place.outside.c_str(), user, group) != 0) return absl::ErrnoToStatus(errno, place.outside);
  }
  return place;
}

absl::StatusOr<std::string> FindAttachedTrace(const TargetProcess& target) {
  std::set<std::string> seen;
  bool is_any = false;
  for (const MapsLine& line : target.Maps()) {
    // Somebody may have removed the recording: the file is there for as long as it is mapped.
    const bool is_removed = absl::EndsWith(line.path, ".plt (deleted)");
    if ((!absl::EndsWith(line.path, ".plt") && !is_removed) || !seen.insert(line.path).second) continue;
    // The kernel gives the path as we see the file, or, where we do not see it, as the program does.
    trace::FileHeader header;
    std::string path;
    for (const std::string& place : {line.path, target.Proc("root") + line.path,
                                     target.Proc(absl::StrFormat("map_files/%x-%x", line.begin, line.end))}) {
      if (!ReadHeader(place, &header) || header.process_start_ticks != target.StartTicks()) continue;
      path = place;
      break;
    }
    if (path.empty()) continue;
    is_any = true;
    const auto state = static_cast<trace::AttachState>(header.attach_state);
    if (state == trace::AttachState::kAttached || state == trace::AttachState::kDetachWanted) return path;
  }
  if (is_any)
    return absl::NotFoundError("it is recorded from its start, or was detached already; nothing to detach");
  return absl::NotFoundError("no attached recording in it");
}

absl::Status Detach(const TargetProcess& target, const std::string& trace, int wait_ms) {
  // The answer comes into the same file, which may have no name any more once the process has let go of it.
  const int fd = OpenTrace(trace, O_RDWR);
  if (fd < 0) return absl::ErrnoToStatus(errno, trace);
  const absl::Cleanup closes = [fd] { close(fd); };
  const uint32_t wanted = static_cast<uint32_t>(trace::AttachState::kDetachWanted);
  const bool is_written =
      pwrite(fd, &wanted, sizeof(wanted), offsetof(trace::FileHeader, attach_state)) == sizeof(wanted);
  if (!is_written) return absl::ErrnoToStatus(errno, trace);
  trace::FileHeader header;
  TargetProcess again(target.pid());
  const double processor_seconds = target.ProcessorSeconds();
  const uint64_t begin_ns = NowNs();
  for (int polls = 0; NowNs() - begin_ns < static_cast<uint64_t>(wait_ms) * 1'000'000u; ++polls) {
    if (StateOf(fd) == trace::AttachState::kDetached) return absl::OkStatus();
    if (target.StartTicks() == 0) return absl::OkStatus();  // it ended, and with it the recording
    if (polls % 32 == 0 && ReadHeader(fd, &header)) HurryTick(again, header.tick_address);
    usleep(2000);
  }
  return absl::DeadlineExceededError(
      absl::StrFormat("it has not allocated for %d s, in which it had %.2f s of processor time, so it is "
                      "still attached; it lets go "
                      "with its next allocation",
                      wait_ms / 1000, target.ProcessorSeconds() - processor_seconds));
}

std::vector<pid_t> ProcessTree(pid_t pid, bool with_children) {
  std::vector<pid_t> tree = {pid};
  for (size_t i = 0; with_children && i < tree.size() && tree.size() < kMaxProcesses; ++i) {
    for (pid_t child : TargetProcess(tree[i]).Children()) tree.push_back(child);
  }
  return tree;
}

}  // namespace plateau::cli

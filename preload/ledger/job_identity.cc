#include "preload/ledger/job_identity.h"

#include <sys/utsname.h>

#include <cstring>

#include "preload/base/options.h"
#include "preload/base/system_call.h"

extern "C" char** environ;

namespace plateau {
namespace {

// The first that is set names the rank.
constexpr const char* kRankVariables[] = {"RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                          "PMI_RANK", "SLURM_PROCID",         "LOCAL_RANK"};

// The first that is set names the job: a scheduler's number, before the name that a launcher gave.
constexpr const char* kJobNames[] = {"SLURM_JOB_ID", "PBS_JOBID",           "LSB_JOBID",
                                     "RAY_JOB_ID",   "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE"};

constexpr const char* kVersionVariables[] = {"GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT"};

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-' || c == '+';
}

void PutName(std::string_view name, FixedText<4096>* out) {
  // A name of dots alone would leave the directory.
  bool is_dots = true;
  for (char c : name) is_dots = is_dots && c == '.';
  for (char c : name) *out << (IsNameCharacter(c) && !is_dots ? c : '_');
}

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// "0a1b2c3d-...": 8, 4, 4, 4 and 12 digits, between them dashes, or underscores where systemd names the group.
bool IsUid(std::string_view text) {
  if (text.size() < 36) return false;
  for (size_t i = 0; i < 36; ++i) {
    const bool is_gap = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_gap ? text[i] != '-' && text[i] != '_' : !IsHexDigit(text[i])) return false;
  }
  return true;
}

// Searches a file of any length in pieces that overlap, so that no uid is cut.
PodUid PodUidOfFile(const char* path) {
  constexpr size_t kOverlap = 64;
  static constinit char buffer[4096] = {};
  const long fd = sys::Open(path, O_RDONLY);
  if (sys::Failed(fd)) return {};
  PodUid found;
  size_t kept = 0;
  // A machine may have thousands of mounts; the pod's own are among the first.
  for (int piece = 0; piece < 64 && found.size() == 0; ++piece) {
    const long got = sys::Read(static_cast<int>(fd), buffer + kept, sizeof(buffer) - kept);
    if (got <= 0) break;
    const size_t size = kept + static_cast<size_t>(got);
    found = PodUidIn({buffer, size});
    kept = size < kOverlap ? size : kOverlap;
    std::memmove(buffer, buffer + size - kept, kept);
  }
  sys::Close(static_cast<int>(fd));
  return found;
}

const char* FirstOf(const char* const* names, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const char* value = EnvironmentVariable(names[i]);
    if (value != nullptr && *value != 0) return value;
  }
  return nullptr;
}

}  // namespace

const char* const kJobVariables[] = {
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMIX_RANK",
    "PMIX_NAMESPACE",
    "PMI_RANK",
    "PMI_SIZE",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NTASKS",
    "SLURM_NODEID",
    "SLURM_NNODES",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_RESTART_COUNT",
    "SLURMD_NODENAME",
    "PBS_JOBID",
    "LSB_JOBID",
    "RAY_JOB_ID",
    "RAY_NODE_ID",
    "JOB_COMPLETION_INDEX",
    "TENSOR_PARALLEL_RANK",
    "PIPELINE_PARALLEL_RANK",
    "DATA_PARALLEL_RANK",
};
const size_t kJobVariableCount = sizeof(kJobVariables) / sizeof(kJobVariables[0]);

const char* EnvironmentVariable(std::string_view name) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, name.data(), name.size()) == 0 && (*entry)[name.size()] == '=') {
      return *entry + name.size() + 1;
    }
  }
  return nullptr;
}

const char* RankOfProcess() {
  return FirstOf(kRankVariables, sizeof(kRankVariables) / sizeof(kRankVariables[0]));
}

const char* JobOfProcess() {
  if (g_options.job.c_str()[0] != 0) return g_options.job.c_str();
  return FirstOf(kJobNames, sizeof(kJobNames) / sizeof(kJobNames[0]));
}

const char* CodeVersionOfProcess() {
  if (g_options.code_version.c_str()[0] != 0) return g_options.code_version.c_str();
  return FirstOf(kVersionVariables, sizeof(kVersionVariables) / sizeof(kVersionVariables[0]));
}

HostName ReadHostName() {
  HostName name;
  utsname system;
  if (!sys::Failed(sys::Call(SYS_uname, sys::Arg(&system)))) name << system.nodename;
  return name;
}

PodUid PodUidIn(std::string_view text) {
  PodUid uid;
  for (std::string_view mark :
       {std::string_view("/pods/"), std::string_view("-pod"), std::string_view("/pod")}) {
    for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
      const std::string_view rest = text.substr(at + mark.size());
      if (!IsUid(rest)) continue;
      for (char c : rest.substr(0, 36)) uid << (c == '_' ? '-' : c);
      return uid;
    }
  }
  return uid;
}

PodUid ReadPodUid() {
  const PodUid uid = PodUidOfFile("/proc/self/cgroup");
  // A pod with a cgroup namespace of its own sees no path there, but the mounts that the kubelet made.
  return uid.size() != 0 ? uid : PodUidOfFile("/proc/self/mountinfo");
}

void ExpandDirectory(const char* pattern, FixedText<4096>* out) {
  for (const char* p = pattern; *p != 0; ++p) {
    if (*p != '%') {
      *out << *p;
      continue;
    }
    const char* name = nullptr;
    switch (p[1]) {
      case 'h':
        PutName(ReadHostName().view(), out);
        break;
      case 'r':
        name = RankOfProcess();
        PutName(name != nullptr ? name : "no-rank", out);
        break;
      case 'j':
        name = JobOfProcess();
        PutName(name != nullptr ? name : "no-job", out);
        break;
      case 'p':
        *out << sys::Getpid();
        break;
      case '%':
        *out << '%';
        break;
      default:
        *out << '%';
        continue;
    }
    ++p;
  }
}

}  // namespace plateau

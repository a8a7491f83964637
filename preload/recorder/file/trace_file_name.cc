#include "preload/recorder/file/trace_file_name.h"

#include <errno.h>

#include <cstring>

#include "preload/base/clock.h"
#include "preload/base/fixed_text.h"
#include "preload/base/system_call.h"
#include "preload/ledger/job_identity.h"

namespace plateau {
namespace {

constexpr size_t kMaxProgramBytes = 64;
constexpr int kMaxAttempts = 100;

bool IsFileNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-' || c == '+';
}

// Not on the stack: threads may have small ones, and a child opens its trace wherever it allocates first. One
// thread at a time gets here.
constinit char g_scratch[4096] = {};

// Makes `path` absolute: the program may change its directory later.
bool AbsolutePath(const char* path, FixedText<4096>* out) {
  if (path[0] != '/') {
    const long size = sys::Call(SYS_getcwd, sys::Arg(g_scratch), sizeof(g_scratch));
    if (size <= 0) return false;
    *out << g_scratch << "/";
  }
  *out << path;
  return out->size() + 1 < 4096;
}

void MakeDirectories(const char* path) {
  char* const partial = g_scratch;
  const size_t size = std::strlen(path);
  for (size_t i = 1; i <= size; ++i) {
    if (path[i] != '/' && path[i] != 0) continue;
    std::memcpy(partial, path, i);
    partial[i] = 0;
    sys::Call(SYS_mkdirat, AT_FDCWD, sys::Arg(partial), 0700);  // a failure shows when the file is created
  }
}

}  // namespace

CreatedFile CreateTraceFile(const char* directory_pattern, std::string_view program, char (*path_out)[4096]) {
  static constinit FixedText<4096> path, directory;
  path.Clear();
  directory.Clear();
  ExpandDirectory(directory_pattern, &directory);
  if (!AbsolutePath(directory.c_str(), &path)) return {-ENAMETOOLONG, "cannot find the recording directory"};
  MakeDirectories(path.c_str());
  path << "/";
  size_t used = 0;
  for (char c : program) {
    if (used++ == kMaxProgramBytes) break;
    path << (IsFileNameCharacter(c) ? c : '_');
  }
  if (used == 0) path << "program";
  path << "." << sys::Getpid() << ".";
  const size_t stem = path.size();
  uint64_t start_us = ClockNs(CLOCK_REALTIME) / 1000;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    path.CutTo(stem);
    path << start_us++ << ".plt";
    const long fd = sys::Open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd == -EEXIST) continue;
    std::memcpy(*path_out, path.c_str(), path.size() + 1);
    return {fd, "cannot create"};
  }
  return {-EEXIST, "cannot find a free file name"};
}

}  // namespace plateau

#include "preload/base/raw_log.h"

#include <errno.h>
#include <sys/stat.h>

#include <atomic>

#include "preload/base/fixed_text.h"
#include "preload/base/system_call.h"

namespace plateau {
namespace {

constexpr int kMaxLines = 16;
constinit std::atomic<bool> g_quiet{false};
constinit std::atomic<int> g_lines{0};
constinit bool g_prepared = false;
constinit uint64_t g_device = 0;
constinit uint64_t g_inode = 0;

bool IsStderr() {
  struct stat info;
  if (sys::Failed(sys::Call(SYS_fstat, 2, sys::Arg(&info)))) return false;
  if (!g_prepared || S_ISCHR(info.st_mode)) return true;
  return info.st_dev == g_device && info.st_ino == g_inode;
}

}  // namespace

void PrepareLog() {
  struct stat info;
  if (sys::Failed(sys::Call(SYS_fstat, 2, sys::Arg(&info)))) info = {};
  g_device = info.st_dev;
  g_inode = info.st_ino;
  g_prepared = true;
}

void SetLogQuiet(bool quiet) { g_quiet.store(quiet, std::memory_order_relaxed); }

void RawLog(std::string_view text) {
  if (g_quiet.load(std::memory_order_relaxed)) return;
  if (!IsStderr()) return;
  if (g_lines.fetch_add(1, std::memory_order_relaxed) >= kMaxLines) return;
  FixedText<1024> line;
  line << "plateau: " << sys::Getpid() << ": " << text;
  line.CutTo(1022);
  line << "\n";
  sys::Write(2, line.c_str(), line.size());
}

std::string_view ErrorName(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "no space left on the device";
    case EDQUOT:
      return "disk quota exceeded";
    case EIO:
      return "input/output error";
    case EROFS:
      return "read-only file system";
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENOENT:
      return "no such file or directory";
    case ENOTDIR:
      return "not a directory";
    case EFBIG:
      return "file size limit (ulimit -f) reached";
    case EMFILE:
    case ENFILE:
      return "too many open files";
    case ENAMETOOLONG:
      return "file name too long";
    case ELOOP:
      return "it is a symbolic link";
    case ENOMEM:
      return "out of memory";
    case EBADF:
      return "the program closed our file";
    case ESTALE:
      return "the file was replaced or cut";
    default:
      return "unexpected error";
  }
}

}  // namespace plateau

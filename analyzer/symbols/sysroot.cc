#include "analyzer/symbols/sysroot.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>

#include "absl/strings/str_cat.h"

namespace plateau::symbols {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel has it

// What a link says; empty when it cannot be read.
std::string Target(const std::string& link) {
  char target[PATH_MAX];
  const ssize_t bytes = readlink(link.c_str(), target, sizeof(target));
  return bytes > 0 ? std::string(target, static_cast<size_t>(bytes)) : "";
}

}  // namespace

Sysroot::Sysroot(std::string folder) : folder_(std::move(folder)) {
  while (!folder_.empty() && folder_.back() == '/') folder_.pop_back();
}

std::string Sysroot::Find(const std::string& path) const {
  if (IsThisSystem()) return path;
  std::string found = folder_;  // without links, below the folder
  std::string left = path;
  int links = 0;
  while (!left.empty()) {
    const size_t slash = left.find('/');
    const std::string name = left.substr(0, slash);
    left = slash == std::string::npos ? "" : left.substr(slash + 1);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      if (found.size() > folder_.size()) found.resize(found.rfind('/'));
      continue;
    }
    const std::string next = absl::StrCat(found, "/", name);
    struct stat status;
    if (next.size() >= PATH_MAX || lstat(next.c_str(), &status) != 0) return "";
    if (!S_ISLNK(status.st_mode)) {
      found = next;
      continue;
    }
    const std::string target = Target(next);
    if (++links > kMaxLinks || target.empty() || target.size() + left.size() >= PATH_MAX) return "";
    if (target[0] == '/') found = folder_;
    left = absl::StrCat(target, "/", left);
  }
  return found;
}

}  // namespace plateau::symbols

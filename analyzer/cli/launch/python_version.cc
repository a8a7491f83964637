#include "analyzer/cli/launch/python_version.h"

#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace plateau::cli {
namespace {

constexpr char kPrefix[] = "python3.";
constexpr int kOldest = 8, kNewest = 15;  // minor versions, as in preload/python/layout.cc

}  // namespace

PythonVersion VersionOfPython(const std::string& path) {
  std::error_code error;
  PythonVersion version;
  version.name = std::filesystem::canonical(path, error).filename().string();
  version.is_python = absl::StartsWith(version.name, kPrefix);
  if (!version.is_python) return version;
  const std::string text = version.name.substr(std::strlen(kPrefix));
  int minor = -1;
  version.has_frames = absl::SimpleAtoi(text, &minor) && minor >= kOldest && minor <= kNewest;
  version.free_threaded = absl::EndsWith(text, "t");
  return version;
}

std::string PythonsWithFrames() { return absl::StrCat("3.", kOldest, " to 3.", kNewest); }

}  // namespace plateau::cli

#include "analyzer/symbols/installed_packages.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "analyzer/base/input_file.h"

namespace plateau::symbols {
namespace {

namespace fs = std::filesystem;

constexpr int kMostEntries = 20'000;  // of a folder; one with more is no folder of packages
constexpr size_t kMaxRecordBytes = size_t{16} << 20;

// The first name of every path that a RECORD lists: "numpy" of "numpy/__init__.py,sha256=...,123".
void AddNames(const std::string& record, absl::flat_hash_set<std::string>* names) {
  for (const absl::string_view line : absl::StrSplit(record, '\n', absl::SkipEmpty())) {
    const absl::string_view path = line.substr(0, line.find(','));
    const absl::string_view name = path.substr(0, path.find('/'));
    if (!name.empty() && name != "..") names->insert(std::string(name));
  }
}

}  // namespace

const InstalledPackages::Names& InstalledPackages::InstalledIn(const std::string& folder) {
  const auto [it, is_new] = folders_.try_emplace(folder);
  if (!is_new) return it->second;
  std::error_code error;
  fs::directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error);
  for (int i = 0; !error && entry != fs::directory_iterator() && i < kMostEntries;
       entry.increment(error), ++i) {
    const std::string name = entry->path().filename();
    if (!absl::EndsWith(name, ".dist-info")) continue;
    const auto record = ReadWholeFile(absl::StrCat(folder, "/", name, "/RECORD"), kMaxRecordBytes);
    if (record.ok()) AddNames(*record, &it->second);
  }
  return it->second;
}

bool InstalledPackages::IsConda(const std::string& folder) {
  const auto [it, is_new] = conda_.try_emplace(folder, false);
  std::error_code error;
  if (is_new) it->second = fs::is_directory(folder + "/conda-meta", error);
  return it->second;
}

bool InstalledPackages::Has(const std::string& path) {
  if (path.empty() || path[0] != '/') return false;
  // Each folder above the file, with the name below it that leads to the file.
  for (size_t slash = path.find('/', 1), begin = 0; slash != std::string::npos;
       begin = slash, slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, begin);
    const std::string name = path.substr(begin + 1, slash - begin - 1);
    if (!folder.empty() && InstalledIn(folder).contains(name)) return true;
    if (name == "lib" && IsConda(folder)) return true;
  }
  const size_t last = path.rfind('/');
  return last > 0 && InstalledIn(path.substr(0, last)).contains(path.substr(last + 1));
}

}  // namespace plateau::symbols

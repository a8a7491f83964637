#include "analyzer/verdict/cases/case_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace plateau::verdict {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be opened"));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return absl::UnavailableError(absl::StrCat(path, ": reading failed"));
  return text;
}

bool IsCaseFile(const fs::path& path) { return path.extension() == ".json" || path.extension() == ".csv"; }

}  // namespace

absl::StatusOr<std::vector<std::string>> FindCaseFiles(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return absl::NotFoundError(absl::StrCat(path, ": no such file or directory"));
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error) && IsCaseFile(it->path())) files.push_back(it->path().string());
  }
  if (error) return absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
  if (files.empty()) return absl::NotFoundError(absl::StrCat(path, ": holds no .json or .csv file"));
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<std::vector<VerdictCase>> ReadCaseFile(const std::string& path, const Defaults& defaults,
                                                      const LogOptions& log_options) {
  absl::StatusOr<std::string> text = ReadText(path);
  if (!text.ok()) return text.status();
  if (absl::EndsWith(path, ".json")) {
    if (text->find("\"plateau-event-vector/1\"") == std::string::npos)
      return ParseJsonCases(*text, path, defaults);
    absl::StatusOr<std::string> lines = ReadText(absl::StrCat(path, "l"));
    if (!lines.ok()) return lines.status();
    return ParseEventCases(*text, *lines, path, defaults);
  }
  return ParseLogCases(*text, path, defaults, log_options);
}

}  // namespace plateau::verdict

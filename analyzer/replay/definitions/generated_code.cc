#include "analyzer/replay/definitions/generated_code.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace plateau::replay {
namespace {

bool IsBase32(absl::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7'); });
}

// ".../ab/cabxyz....py": inductor names a file by a hash of its text, 51 letters behind a `c`, and its folder by
// the hash's second and third. The folder may be anywhere (TORCHINDUCTOR_CACHE_DIR).
bool IsNamedByHash(absl::string_view path) {
  constexpr size_t kHashLetters = 52;
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos || slash < 3) return false;
  const absl::string_view file = path.substr(slash + 1);
  const absl::string_view name = file.substr(0, file.find('.'));
  return name.size() == kHashLetters && name[0] == 'c' && IsBase32(name) && path[slash - 3] == '/' &&
         path.substr(slash - 2, 2) == name.substr(1, 2);
}

}  // namespace

bool IsInCompilerCache(const std::string& path) {
  return absl::StrContains(path, "/torchinductor_") || absl::StrContains(path, "/.triton/cache/") ||
         absl::StrContains(path, "/__autograph_generated_file") || IsNamedByHash(path);
}

bool IsNotebookCell(const std::string& file) {
  return absl::StartsWith(file, "<ipython-input-") || absl::StrContains(file, "/ipykernel_");
}

bool IsGeneratedPython(const std::string& file, const std::string& function, bool is_program_in_command) {
  if (file.empty()) return true;
  if (file[0] != '<') return IsInCompilerCache(file);
  if (IsNotebookCell(file)) return false;
  for (const char* typed : {"<stdin>", "<console>", "<input>", "<doctest "}) {
    if (absl::StartsWith(file, typed)) return false;
  }
  if (file != "<string>") return true;
  // dataclass, namedtuple and the like make such methods.
  const bool is_method_of_the_language = absl::StartsWith(function, "__") && absl::EndsWith(function, "__");
  return !is_program_in_command || is_method_of_the_language;
}

}  // namespace plateau::replay

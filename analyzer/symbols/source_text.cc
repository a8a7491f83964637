#include "analyzer/symbols/source_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "analyzer/base/input_file.h"

namespace plateau::symbols {

std::string SourceText::Line(const std::string& path, int line) {
  constexpr size_t kMaxFileBytes = 4 << 20;
  if (line <= 0 || path.empty()) return "";
  const auto [it, is_new] = files_.try_emplace(path);
  if (is_new) {
    if (const absl::StatusOr<std::string> text = ReadWholeFile(path, kMaxFileBytes);
        text.ok() && text->find('\0') == std::string::npos) {
      it->second = *text;
    }
  }
  absl::string_view rest = it->second;
  for (; line > 1; --line) {
    const size_t end = rest.find('\n');
    if (end == absl::string_view::npos) return "";
    rest.remove_prefix(end + 1);
  }
  return std::string(absl::StripAsciiWhitespace(rest.substr(0, rest.find('\n'))));
}

}  // namespace plateau::symbols

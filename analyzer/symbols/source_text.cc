#include "analyzer/symbols/source_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "analyzer/base/input_file.h"

namespace plateau::symbols {

std::string SourceText::Line(const std::string& path, int line) {
  constexpr size_t kMaxFileBytes = 4 << 20;
  if (line <= 0 || path.empty()) return "";
  const auto [it, is_new] = files_.try_emplace(path);
  if (is_new) {
    if (const absl::StatusOr<std::string> text = ReadWholeFile(path, kMaxFileBytes);
        text.ok() && text->find('\0') == std::string::npos) {
      it->second = absl::StrSplit(*text, '\n');
    }
  }
  if (static_cast<size_t>(line) > it->second.size()) return "";
  return std::string(absl::StripAsciiWhitespace(it->second[line - 1]));
}

}  // namespace plateau::symbols

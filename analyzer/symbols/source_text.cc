#include "analyzer/symbols/source_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "analyzer/base/input_file.h"
#include "analyzer/symbols/passed_on.h"

namespace plateau::symbols {
namespace {

// Whether a file's name says that it holds secrets: a line of it does not belong into a report.
bool SuggestsSecrets(absl::string_view path) {
  const std::string name =
      absl::AsciiStrToLower(path.substr(path.rfind('/') + 1));  // all of it without a slash
  for (absl::string_view word :
       {"secret", "credential", "passw", "apikey", "api_key", "private_key", "netrc"}) {
    if (absl::StrContains(name, word)) return true;
  }
  const absl::string_view stem = absl::string_view(name).substr(0, name.find('.', 1));
  return stem == ".env" || stem == "token" || stem == "tokens" || stem == "keys";
}

}  // namespace

const std::string& SourceText::TextOf(const std::string& path) {
  constexpr size_t kMaxFileBytes = 4 << 20;
  static const std::string* const kNone = new std::string;
  if (path.empty() || SuggestsSecrets(path)) return *kNone;
  const auto [it, is_new] = files_.try_emplace(path);
  if (is_new) {
    if (const absl::StatusOr<std::string> text = ReadWholeFile(sysroot_.Find(path), kMaxFileBytes);
        text.ok() && text->find('\0') == std::string::npos) {
      it->second = *text;
    }
  }
  return it->second;
}

std::string SourceText::Line(const std::string& path, int line) {
  if (line <= 0) return "";
  absl::string_view rest = TextOf(path);
  for (; line > 1; --line) {
    const size_t end = rest.find('\n');
    if (end == absl::string_view::npos) return "";
    rest.remove_prefix(end + 1);
  }
  return std::string(absl::StripAsciiWhitespace(rest.substr(0, rest.find('\n'))));
}

std::vector<std::string> SourceText::Excerpt(const std::string& path, int line, int reach, int* first) {
  constexpr size_t kLongestLine = 400;
  std::vector<std::string> out;
  *first = std::max(1, line - reach);
  if (Line(path, line).empty()) return out;
  absl::string_view rest = TextOf(path);
  for (int number = 1; number <= line + reach && !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    absl::string_view text = rest.substr(0, end);
    if (absl::EndsWith(text, "\r")) text.remove_suffix(1);
    if (number >= *first) out.emplace_back(text.substr(0, kLongestLine));
    if (end == absl::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return out;
}

int SourceText::LineThatStores(const std::string& path, int line) {
  return symbols::LineThatStores(TextOf(path), line).value_or(0);
}

}  // namespace plateau::symbols

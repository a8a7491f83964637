#include "analyzer/report/suppressions.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plateau::report {
namespace {

// Classic wildcard match of the whole text: on a mismatch go back to the last '*' and let it take one
// character more.
bool MatchesWhole(absl::string_view pattern, absl::string_view text, bool question_mark) {
  size_t p = 0, t = 0, star = absl::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == text[t] || (question_mark && pattern[p] == '?'))) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool MatchesPattern(absl::string_view pattern, absl::string_view text) {
  std::string whole;
  if (!absl::ConsumePrefix(&pattern, "^")) whole = "*";
  const bool to_end = absl::ConsumeSuffix(&pattern, "$");
  absl::StrAppend(&whole, pattern, to_end ? "" : "*");
  return MatchesWhole(whole, text, /*question_mark=*/false);
}

bool MatchesGlob(absl::string_view glob, absl::string_view path) {
  if (MatchesWhole(glob, path, /*question_mark=*/true)) return true;
  const size_t slash = path.rfind('/');
  return !absl::StrContains(glob, "/") && slash != absl::string_view::npos &&
         MatchesWhole(glob, path.substr(slash + 1), /*question_mark=*/true);
}

absl::StatusOr<Suppressions> Suppressions::Parse(absl::string_view text) {
  Suppressions out;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    if (!absl::ConsumePrefix(&line, "leak:") || line.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": expected leak:PATTERN, found \"", line, "\""));
    }
    out.patterns_.emplace_back(line);
  }
  return out;
}

int Suppressions::Match(const ReportModel& model, const Site& site) const {
  for (size_t i = 0; i < patterns_.size(); ++i) {
    auto matches = [&](const std::string& text) {
      return !text.empty() && MatchesPattern(patterns_[i], text);
    };
    if (matches(site.site) || matches(site.function) || matches(site.file) || matches(site.module)) {
      return static_cast<int>(i);
    }
    for (uint32_t index : site.stack) {
      if (index >= model.frames.size()) continue;
      const Frame& frame = model.frames[index];
      if (matches(frame.function) || matches(frame.file) || matches(frame.module)) return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace plateau::report

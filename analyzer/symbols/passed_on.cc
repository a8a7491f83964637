#include "analyzer/symbols/passed_on.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace plateau::symbols {
namespace {

using absl::string_view;

constexpr int kReach = 30;  // lines

bool IsNameChar(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool IsName(string_view text) {
  if (text.empty() || absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (const char c : text) {
    if (!IsNameChar(c)) return false;
  }
  return true;
}

size_t IndentOf(string_view line) { return line.size() - absl::StripLeadingAsciiWhitespace(line).size(); }

// Where "=" assigns in a line; npos when it does not. What stands in brackets is an argument.
size_t Assignment(string_view line) {
  int depth = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '#' || c == '"' || c == '\'') return string_view::npos;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c != '=' || depth != 0) continue;
    const bool compares = (i + 1 < line.size() && line[i + 1] == '=') ||
                          (i > 0 && absl::StrContains("=!<>:+-*/%&|^@", line.substr(i - 1, 1)));
    return compares ? string_view::npos : i;
  }
  return string_view::npos;
}

// The names left of the assignment: "out", or "x" and "y" of "x, y".
std::vector<string_view> AssignedNames(string_view line) {
  std::vector<string_view> names;
  const size_t at = Assignment(line);
  if (at == string_view::npos) return names;
  for (string_view name : absl::StrSplit(line.substr(0, at), ',')) {
    name = absl::StripAsciiWhitespace(name.substr(0, name.find(':')));
    if (IsName(name)) names.push_back(name);
  }
  return names;
}

// Whether `text` has the name as an object of its own, not a part or a method's result of it.
bool HasAsItIs(string_view text, string_view name) {
  for (size_t at = text.find(name); at != string_view::npos; at = text.find(name, at + 1)) {
    const bool begins = at == 0 || (!IsNameChar(text[at - 1]) && text[at - 1] != '.');
    string_view rest = text.substr(at + name.size());
    for (string_view same : {".detach()", ".cpu()"}) absl::ConsumePrefix(&rest, same);
    rest = absl::StripLeadingAsciiWhitespace(rest);
    if (begins && (rest.empty() || absl::StrContains(",)]}#", rest.substr(0, 1)))) return true;
  }
  return false;
}

bool Stores(string_view line, string_view name) {
  for (string_view method :
       {".append(", ".appendleft(", ".add(", ".extend(", ".insert(", ".put(", ".put_nowait("}) {
    const size_t at = line.find(method);
    if (at != string_view::npos && HasAsItIs(line.substr(at + method.size()), name)) return true;
  }
  const size_t at = Assignment(line);
  if (at == string_view::npos) return false;
  const string_view target = absl::StripAsciiWhitespace(line.substr(0, at));
  const bool is_place = absl::EndsWith(target, "]") || absl::StrContains(target, ".");
  return is_place && HasAsItIs(line.substr(at + 1), name);
}

}  // namespace

std::optional<int> LineThatStores(string_view text, int line) {
  if (line <= 0) return std::nullopt;
  for (int skipped = 1; skipped < line; ++skipped) {
    const size_t end = text.find('\n');
    if (end == string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  std::vector<string_view> names;
  size_t indent = 0;
  for (int number = line; number <= line + kReach && !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const string_view now = text.substr(0, end);
    text = end == string_view::npos ? "" : text.substr(end + 1);
    if (number == line) {
      names = AssignedNames(now);
      indent = IndentOf(now);
      if (names.empty()) return std::nullopt;
      continue;
    }
    const string_view code = absl::StripAsciiWhitespace(now);
    if (code.empty() || code[0] == '#') continue;
    if (IndentOf(now) < indent) return std::nullopt;
    for (string_view name : names) {
      if (Stores(now, name)) return number;
    }
    for (string_view again : AssignedNames(now)) {
      for (string_view name : names) {
        if (name == again) return std::nullopt;
      }
    }
  }
  return std::nullopt;
}

}  // namespace plateau::symbols

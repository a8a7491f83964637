// Writes JSON into one string as it goes, for what is too long to be built as a tree of values first.
//
//   JsonText text(2);
//   text.Begin('{');
//   text.Key("sites");
//   text.Begin('[');
//   for (...) text.Value(number);
//   text.End(']');
//   text.End('}');
//
// The text is what nlohmann's dump() of the same values would be, but for rows: NaN and infinities are null,
// bad UTF-8 is the replacement character. A Begin() without its End() makes no JSON, and nothing complains.
// Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPORT_JSON_JSON_TEXT_H_
#define PLATEAU_ANALYZER_REPORT_JSON_JSON_TEXT_H_

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace plateau::report {

class JsonText {
 public:
  // `indent` columns a level; -1: all in one line. `level` is that of the text this will be put into by
  // Word().
  explicit JsonText(int indent, int level = 0);

  void Begin(char bracket);
  void End(char bracket);
  // A list in one line. What is in it has no brackets of its own.
  void BeginRow();
  void EndRow();
  void Key(std::string_view key);

  void Value(std::string_view text);
  void Value(const char* text) { Value(std::string_view(text)); }
  void Value(std::nullptr_t) { Word("null"); }
  void Value(double number);
  template <typename Integer>
  requires std::is_integral_v<Integer>
  void Value(Integer number) {
    if constexpr (std::is_same_v<Integer, bool>) {
      Word(number ? "true" : "false");
    } else {
      char digits[24];
      Word(
          {digits, static_cast<size_t>(std::to_chars(digits, digits + sizeof(digits), number).ptr - digits)});
    }
  }
  // A value with all that is in it.
  void Tree(const nlohmann::ordered_json& value);

  // A value that is text already, as a JsonText of this level wrote it.
  void Word(std::string_view text) {
    BeginElement();
    text_ += text;
  }
  int level() const { return level_; }

  // Room for so many characters: address space alone, when there are many.
  void Reserve(size_t bytes) { text_.reserve(bytes); }
  std::string Take() { return std::move(text_); }

 private:
  void BeginElement();
  void SetLevel(int level);
  void Quote(std::string_view text);

  int indent_;
  int level_ = 0;
  int depth_ = 0;         // of arrays and objects that were begun
  bool is_empty_ = true;  // nothing since the last Begin()
  bool has_key_ = false;  // written, its value is next
  bool is_in_row_ = false;
  std::string line_;  // what is between two elements of this level; without the comma, a new line
  std::string text_;
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_JSON_JSON_TEXT_H_

#include "analyzer/report/json/json_text.h"

#include <algorithm>
#include <cmath>

namespace plateau::report {
namespace {

using Json = nlohmann::ordered_json;

std::string Dumped(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

bool IsNumber(const Json& value) { return value.is_number() || value.is_null(); }

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

}  // namespace

JsonText::JsonText(int indent, int level) : indent_(indent), line_(indent < 0 ? "," : ",\n") {
  SetLevel(level);
}

void JsonText::SetLevel(int level) {
  level_ = level;
  if (indent_ >= 0) line_.resize(2 + static_cast<size_t>(level) * static_cast<size_t>(indent_), ' ');
}

void JsonText::BeginElement() {
  if (has_key_) {
    has_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (is_in_row_) {
    if (!is_empty_) text_ += indent_ < 0 ? "," : ", ";
  } else {
    text_.append(line_, is_empty_ ? 1 : 0);
  }
  is_empty_ = false;
}

void JsonText::Begin(char bracket) {
  BeginElement();
  text_ += bracket;
  SetLevel(level_ + 1);
  ++depth_;
  is_empty_ = true;
}

void JsonText::End(char bracket) {
  SetLevel(level_ - 1);
  --depth_;
  if (!is_empty_) text_.append(line_, 1);
  text_ += bracket;
  is_empty_ = false;
}

void JsonText::BeginRow() {
  Begin('[');
  is_in_row_ = true;
}

void JsonText::EndRow() {
  is_in_row_ = false;
  is_empty_ = true;  // no line before the bracket
  End(']');
}

void JsonText::Quote(std::string_view text) {
  if (!IsPlain(text)) {
    text_ += Dumped(text);
    return;
  }
  text_ += '"';
  text_ += text;
  text_ += '"';
}

void JsonText::Key(std::string_view key) {
  BeginElement();
  Quote(key);
  text_ += indent_ < 0 ? ":" : ": ";
  has_key_ = true;
}

void JsonText::Value(std::string_view text) {
  BeginElement();
  Quote(text);
}

void JsonText::Value(double number) {
  // Most are whole, and those need no search for the shortest text.
  constexpr double kMost = 1e15;
  const bool is_whole = std::abs(number) < kMost && number == std::trunc(number);
  if (!is_whole || (number == 0 && std::signbit(number))) return Word(Dumped(number));
  char text[24];
  char* const end = std::to_chars(text, text + sizeof(text), static_cast<int64_t>(number)).ptr;
  end[0] = '.';
  end[1] = '0';
  Word({text, static_cast<size_t>(end - text) + 2});
}

void JsonText::Tree(const Json& value) {
  if (value.is_object()) {
    Begin('{');
    for (const auto& [key, each] : value.items()) {
      Key(key);
      Tree(each);
    }
    End('}');
  } else if (value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), IsNumber)) {
    BeginRow();
    for (const Json& each : value) Word(Dumped(each));
    EndRow();
  } else if (value.is_array()) {
    Begin('[');
    for (const Json& each : value) Tree(each);
    End(']');
  } else {
    Word(Dumped(value));
  }
}

}  // namespace plateau::report

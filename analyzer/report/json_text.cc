#include "analyzer/report/json_text.h"

#include <algorithm>

namespace plateau::report {
namespace {

using Json = nlohmann::ordered_json;

std::string Dumped(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

}  // namespace

void JsonText::NewLine() {
  if (indent_ < 0) return;
  text_ += '\n';
  text_.append(static_cast<size_t>(level_) * static_cast<size_t>(indent_), ' ');
}

void JsonText::BeginElement() {
  if (has_key_) {
    has_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!is_empty_) text_ += ',';
  is_empty_ = false;
  NewLine();
}

void JsonText::Begin(char bracket) {
  BeginElement();
  text_ += bracket;
  ++level_;
  ++depth_;
  is_empty_ = true;
}

void JsonText::End(char bracket) {
  --level_;
  --depth_;
  if (!is_empty_) NewLine();
  text_ += bracket;
  is_empty_ = false;
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

void JsonText::Value(double number) { Word(Dumped(number)); }

void JsonText::Tree(const Json& value) {
  if (value.is_object()) {
    Begin('{');
    for (const auto& [key, each] : value.items()) {
      Key(key);
      Tree(each);
    }
    End('}');
  } else if (value.is_array()) {
    Begin('[');
    for (const Json& each : value) Tree(each);
    End(']');
  } else {
    Word(Dumped(value));
  }
}

}  // namespace plateau::report

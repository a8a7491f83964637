#include "tests/support/text_loops.h"

#include <cctype>
#include <cstdint>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace plateau::testing {
namespace {

using Variables = std::map<std::string, int64_t>;

[[noreturn]] void Fail(const std::string& why, std::string_view where) {
  throw std::invalid_argument(why + ": " + std::string(where));
}

// Recursive descent: comparison, sum, product, number.
class Expression {
 public:
  Expression(std::string_view text, const Variables& variables) : text_(text), variables_(variables) {}

  int64_t Value() {
    const int64_t value = Comparison();
    if (at_ != text_.size()) Fail("not understood", text_);
    return value;
  }

 private:
  bool Take(std::string_view token) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  int64_t Comparison() {
    const int64_t left = Sum();
    if (Take("==")) return left == Sum();
    if (Take("<")) return left < Sum();
    if (Take(">")) return left > Sum();
    return left;
  }
  int64_t Sum() {
    int64_t value = Product();
    while (true) {
      if (Take("+")) {
        value += Product();
      } else if (Take("-")) {
        value -= Product();
      } else {
        return value;
      }
    }
  }
  int64_t Product() {
    int64_t value = Number();
    while (true) {
      if (Take("*")) {
        value *= Number();
      } else if (Take("/")) {
        value /= Divisor();
      } else if (Take("%")) {
        value %= Divisor();
      } else {
        return value;
      }
    }
  }
  int64_t Divisor() {
    const int64_t value = Number();
    if (value == 0) Fail("division by zero", text_);
    return value;
  }
  int64_t Number() {
    if (Take("(")) {
      const int64_t value = Comparison();
      if (!Take(")")) Fail("no closing parenthesis", text_);
      return value;
    }
    const size_t begin = at_;
    while (at_ < text_.size() && (isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const std::string word(text_.substr(begin, at_ - begin));
    if (word.empty()) Fail("a number is missing", text_);
    if (isdigit(static_cast<unsigned char>(word[0]))) return std::stoll(word, nullptr, 0);
    const auto found = variables_.find(word);
    if (found == variables_.end()) Fail("unknown variable " + word, text_);
    return found->second;
  }

  std::string_view text_;
  const Variables& variables_;
  size_t at_ = 0;
};

std::string Substitute(const std::string& line, const Variables& variables) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '{') {
      out += line[i];
      continue;
    }
    const size_t end = line.find('}', i);
    if (end == std::string::npos) Fail("no closing brace", line);
    out += std::to_string(Expression(std::string_view(line).substr(i + 1, end - i - 1), variables).Value());
    i = end;
  }
  return out;
}

std::string FirstWord(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  words >> word;
  return word;
}

class Expander {
 public:
  explicit Expander(std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) lines_.push_back(line);
  }

  std::string Expand() {
    Range(0, lines_.size());
    return out_;
  }

 private:
  size_t EndOf(size_t loop) const {
    int depth = 0;
    for (size_t i = loop; i < lines_.size(); ++i) {
      const std::string word = FirstWord(lines_[i]);
      if (word == "for") ++depth;
      if (word == "end" && --depth == 0) return i;
    }
    Fail("loop without end", lines_[loop]);
  }

  void Range(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const std::string word = FirstWord(lines_[i]);
      if (word == "for") {
        const size_t close = EndOf(i);
        Loop(i, close);
        i = close;
      } else if (word == "if") {
        Conditional(Substitute(lines_[i], variables_));
      } else if (word == "end") {
        Fail("end without loop", lines_[i]);
      } else {
        out_ += Substitute(lines_[i], variables_) + "\n";
      }
    }
  }

  void Loop(size_t begin, size_t end) {
    std::istringstream words(Substitute(lines_[begin], variables_));
    std::string keyword, name;
    int64_t from, to, stride = 1;
    if (!(words >> keyword >> name >> from >> to)) Fail("for NAME FROM TO [STRIDE]", lines_[begin]);
    if (int64_t given; words >> given) stride = given;
    if (stride <= 0) Fail("the stride is positive", lines_[begin]);
    for (int64_t value = from; value <= to; value += stride) {
      variables_[name] = value;
      Range(begin + 1, end);
    }
    variables_.erase(name);
  }

  void Conditional(const std::string& line) {
    std::istringstream words(line);
    std::string keyword, rest;
    int64_t value;
    if (!(words >> keyword >> value)) Fail("if {EXPRESSION} RECORD", line);
    std::getline(words, rest);
    if (value != 0) out_ += rest + "\n";
  }

  std::vector<std::string> lines_;
  Variables variables_;
  std::string out_;
};

}  // namespace

std::string ExpandLoops(std::string_view text) { return Expander(text).Expand(); }

}  // namespace plateau::testing

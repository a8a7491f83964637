#include "analyzer/cli/arguments.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/closest_word.h"
#include "analyzer/base/human_units.h"
#include "analyzer/cli/command.h"

namespace plateau::cli {
namespace {

const Option* FindOption(const Command& command, const std::string& name) {
  for (const Option& option : command.options) {
    if (name == option.name) return &option;
  }
  return nullptr;
}

const Option* FindLetter(const Command& command, char letter) {
  for (const Option& option : command.options) {
    if (option.letter == letter) return &option;
  }
  return nullptr;
}

std::vector<std::string> LongOptions(const Command& command) {
  std::vector<std::string> names = {"--help"};
  for (const Option& option : command.options) names.push_back(absl::StrCat("--", option.name));
  return names;
}

}  // namespace

absl::StatusOr<Arguments> Arguments::Parse(const Command& command, const std::vector<std::string>& words) {
  Arguments arguments;
  const auto mistake = [&command](auto... text) {
    return absl::InvalidArgumentError(
        absl::StrCat("plateau ", command.name, ": ", text..., " (see `plateau ", command.name, " --help`)"));
  };
  size_t i = 0;
  for (; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      ++i;
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      if (command.takes_program) break;
      arguments.positional_.push_back(word);
      continue;
    }
    const bool is_long = word[1] == '-';
    const size_t equals = is_long ? word.find('=') : std::string::npos;
    const std::string name = is_long ? word.substr(2, equals == std::string::npos ? equals : equals - 2) : "";
    if (name == "help" || word == "-h") {
      arguments.wants_help_ = true;
      return arguments;
    }
    const Option* option = is_long ? FindOption(command, name) : FindLetter(command, word[1]);
    if (option == nullptr && is_long) {
      return mistake("unknown option --", name, DidYouMean("--" + name, LongOptions(command)));
    }
    if (option == nullptr) return mistake("unknown option ", word);
    std::string value;
    if (option->value == nullptr) {
      if (equals != std::string::npos || (!is_long && word.size() > 2)) {
        return mistake("--", option->name, " takes no value");
      }
    } else if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (!is_long && word.size() > 2) {
      value = word.substr(2);
    } else if (i + 1 < words.size() && words[i + 1] != "--") {
      value = words[++i];
    } else {
      return mistake("--", option->name, " needs a value: --", option->name, "=", option->value);
    }
    std::vector<std::string>& values = arguments.options_[option->name];
    if (!option->repeated) values.clear();
    values.push_back(value);
  }
  std::vector<std::string>& rest = command.takes_program ? arguments.program_ : arguments.positional_;
  rest.insert(rest.end(), words.begin() + static_cast<ptrdiff_t>(std::min(i, words.size())), words.end());

  const int count = static_cast<int>(rest.size());
  if (count < command.min_positional) return mistake("missing ", command.usage);
  if (command.max_positional >= 0 && count > command.max_positional) {
    return mistake("unexpected argument '", rest[command.max_positional], "'");
  }
  return arguments;
}

std::string Arguments::Value(const std::string& option, const std::string& fallback) const {
  const auto it = options_.find(option);
  return it == options_.end() ? fallback : it->second.back();
}

std::vector<std::string> Arguments::Values(const std::string& option) const {
  const auto it = options_.find(option);
  return it == options_.end() ? std::vector<std::string>() : it->second;
}

absl::StatusOr<int64_t> Arguments::Integer(const std::string& option, int64_t fallback) const {
  if (!Has(option)) return fallback;
  int64_t value = 0;
  if (!absl::SimpleAtoi(Value(option), &value) || value < 0) {
    return absl::InvalidArgumentError(absl::StrCat("--", option, "=", Value(option), ": not a whole number"));
  }
  return value;
}

absl::Status NotOneOf(const std::string& option, const std::string& value,
                      const std::vector<std::string>& known) {
  std::string list;
  for (size_t i = 0; i < known.size(); ++i) {
    absl::StrAppend(&list, i == 0 ? "" : i + 1 < known.size() ? ", " : " or ", known[i]);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--", option, "=", value, ": not ", list, DidYouMean(value, known)));
}

absl::StatusOr<double> Arguments::Number(const std::string& option, double fallback) const {
  if (!Has(option)) return fallback;
  double value = 0;
  if (!absl::SimpleAtod(Value(option), &value)) {
    return absl::InvalidArgumentError(absl::StrCat("--", option, "=", Value(option), ": not a number"));
  }
  return value;
}

absl::StatusOr<uint64_t> Arguments::Bytes(const std::string& option, uint64_t fallback) const {
  if (!Has(option)) return fallback;
  const std::optional<uint64_t> value = ParseBytes(Value(option));
  if (!value) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", option, "=", Value(option), ": not a size; write 4096, 64KiB, 1.5GiB"));
  }
  return *value;
}

}  // namespace plateau::cli

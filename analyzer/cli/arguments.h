// The arguments of one command after parsing: options as `--name=value`, `--name value`, `-n value` or
// `--switch`, then positionals, then whatever stands behind `--`.
//
// Mistakes are InvalidArgument errors that name the option and say where help is.
#ifndef PLATEAU_ANALYZER_CLI_ARGUMENTS_H_
#define PLATEAU_ANALYZER_CLI_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace plateau::cli {

struct Command;

class Arguments {
 public:
  static absl::StatusOr<Arguments> Parse(const Command& command, const std::vector<std::string>& words);

  bool Has(const std::string& option) const { return options_.count(option) > 0; }
  // The last value given, or `fallback`.
  std::string Value(const std::string& option, const std::string& fallback = "") const;
  std::vector<std::string> Values(const std::string& option) const;
  absl::StatusOr<int64_t> Integer(const std::string& option, int64_t fallback) const;  // not negative
  absl::StatusOr<double> Number(const std::string& option, double fallback) const;
  absl::StatusOr<uint64_t> Bytes(const std::string& option, uint64_t fallback) const;  // "64KiB"

  const std::vector<std::string>& positional() const { return positional_; }
  // The command line of a program, for commands that take one.
  const std::vector<std::string>& program() const { return program_; }
  bool wants_help() const { return wants_help_; }

 private:
  std::map<std::string, std::vector<std::string>> options_;
  std::vector<std::string> positional_;
  std::vector<std::string> program_;
  bool wants_help_ = false;
};

// The mistake of a value that is none of the known ones: "--sort=growht: not retained, growth or name; did you mean
// 'growth'?".
absl::Status NotOneOf(const std::string& option, const std::string& value,
                      const std::vector<std::string>& known);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_ARGUMENTS_H_

// `plateau check`: an exit code for CI.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzer/base/input_file.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/load_report.h"
#include "analyzer/report/check.h"

namespace plateau::cli {
namespace {

// Options that are a rule of the same name.
constexpr const char* kRuleOptions[] = {"fail-on", "max-growth", "max-retained", "max-peak",
                                        "max-rss", "plateau-by", "min-steps",    "max-drops"};

absl::StatusOr<std::vector<report::CheckRule>> Rules(const Arguments& arguments) {
  std::vector<report::CheckRule> rules;
  auto add = [&rules](const std::string& line) -> absl::Status {
    absl::StatusOr<report::CheckRule> rule = report::ParseCheckRule(line);
    if (!rule.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", line.substr(0, line.find(' ')), ": ", rule.status().message()));
    }
    rules.push_back(*std::move(rule));
    return absl::OkStatus();
  };
  for (const std::string& path : arguments.Values("rules")) {
    PLATEAU_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
    absl::StatusOr<std::vector<report::CheckRule>> parsed = report::ParseCheckRules(text);
    if (!parsed.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", parsed.status().message()));
    rules.insert(rules.end(), parsed->begin(), parsed->end());
  }
  for (const char* name : kRuleOptions) {
    for (const std::string& value : arguments.Values(name))
      PLATEAU_RETURN_IF_ERROR(add(absl::StrCat(name, " ", value)));
  }
  for (const std::string& value : arguments.Values("budget")) {
    PLATEAU_RETURN_IF_ERROR(add(absl::StrCat("budget ", absl::StrReplaceAll(value, {{"=", " "}}))));
  }
  if (arguments.Has("baseline"))
    PLATEAU_RETURN_IF_ERROR(add(absl::StrCat("baseline ", arguments.Value("tolerance", "10%"))));
  if (rules.empty()) rules = report::DefaultCheckRules();
  return rules;
}

absl::StatusOr<int> RunCheck(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(const std::vector<report::CheckRule> rules, Rules(arguments));
  PLATEAU_ASSIGN_OR_RETURN(report::BuildOptions options, ParseAnalysisOptions(arguments));
  options.with_stacks = false;
  report::CheckInputs inputs;
  std::optional<report::Suppressions> suppressions;
  if (arguments.Has("suppressions")) {
    const std::string path = arguments.Value("suppressions");
    PLATEAU_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
    absl::StatusOr<report::Suppressions> parsed = report::Suppressions::Parse(text);
    if (!parsed.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", parsed.status().message()));
    suppressions = *std::move(parsed);
    inputs.suppressions = &*suppressions;
  }
  PLATEAU_ASSIGN_OR_RETURN(const report::ReportModel model, LoadReport(arguments.positional(), options));
  inputs.model = &model;
  std::optional<report::ReportModel> baseline;
  if (arguments.Has("baseline")) {
    PLATEAU_ASSIGN_OR_RETURN(baseline, LoadReport({arguments.Value("baseline")}, options));
    inputs.baseline = &*baseline;
  }
  const report::CheckReport result = report::RunCheck(inputs, rules);
  const std::string json = arguments.Value("json"), junit = arguments.Value("junit"),
                    markdown = arguments.Value("markdown");
  if (!json.empty()) PLATEAU_RETURN_IF_ERROR(WriteOutput(json, report::WriteCheckJson(model, result)));
  if (!junit.empty()) PLATEAU_RETURN_IF_ERROR(WriteOutput(junit, report::WriteCheckJunit(model, result)));
  if (!markdown.empty())
    PLATEAU_RETURN_IF_ERROR(WriteOutput(markdown, report::WriteCheckMarkdown(model, result)));
  if (json != "-" && junit != "-" && markdown != "-") {
    PLATEAU_RETURN_IF_ERROR(WriteOutput("-", report::WriteCheckText(result)));
  }
  return result.passed() ? kExitOk : kExitCheckFailed;
}

}  // namespace

const Command& CheckCommand() {
  static const Command command = {
      .name = "check",
      .usage = "RECORDING...",
      .summary = "Hold a run to rules and say so with the exit code, for CI.",
      .description =
          "Exit code 0 when every rule holds, 1 when one does not. Without rules: fail on leak, slow_leak "
          "and staircase. Warm-up and "
          "cache fills do not fail. A growth rule fails when the whole 95 % interval is above the limit and "
          "warns when only "
          "the estimate is. The same rules stand in a file as lines without the dashes (docs/check.md).",
      .options = WithAnalysisOptions(
          {{.name = "fail-on",
            .value = "VERDICTS",
            .help = "Verdicts that fail, separated by commas; growth means all that grow without an end.",
            .default_value = "leak,slow_leak,staircase",
            .repeated = true},
           {.name = "max-growth",
            .value = "RATE",
            .help = "Growth allowed, e.g. 1MiB/step.",
            .default_value = "no limit"},
           {.name = "max-retained",
            .value = "BYTES",
            .help = "Bytes that may be alive at the end.",
            .default_value = "no limit"},
           {.name = "max-peak",
            .value = "BYTES",
            .help = "Highest live bytes allowed.",
            .default_value = "no limit"},
           {.name = "max-rss",
            .value = "BYTES",
            .help = "Highest resident set allowed.",
            .default_value = "no limit"},
           {.name = "plateau-by",
            .value = "STEP",
            .help = "Nothing may grow after this step.",
            .default_value = "no limit"},
           {.name = "budget",
            .value = "GLOB=BYTES",
            .help = "What matching sites may retain, or GLOB=RATE/step may grow; held-by:GLOB is of who "
                    "holds it.",
            .default_value = "none",
            .repeated = true},
           {.name = "min-steps", .value = "N", .help = "Steps the run must have.", .default_value = "0"},
           {.name = "max-drops",
            .value = "N",
            .help = "Events the recorder may have lost.",
            .default_value = "no limit"},
           {.name = "rules",
            .value = "FILE",
            .help = "Read rules from a file.",
            .default_value = "none",
            .repeated = true},
           {.name = "baseline",
            .value = "FILE",
            .help = "Compare with an earlier recording or JSON report.",
            .default_value = "none"},
           {.name = "tolerance",
            .value = "SHARE",
            .help = "How much more than the baseline a site may hold.",
            .default_value = "10%"},
           {.name = "suppressions",
            .value = "FILE",
            .help = "Known sites, in LeakSanitizer's syntax.",
            .default_value = "none"},
           {.name = "json",
            .value = "FILE",
            .help = "Write the outcome as JSON; `-` is standard output.",
            .default_value = "no JSON"},
           {.name = "junit",
            .value = "FILE",
            .help = "Write the outcome as JUnit XML.",
            .default_value = "no XML"},
           {.name = "markdown",
            .value = "FILE",
            .help = "Write a summary in GitHub's Markdown.",
            .default_value = "no Markdown"}}),
      .examples = {{"plateau check rec/", "fail when the run leaks"},
                   {"plateau check rec/ --fail-on leak --max-growth 1MiB/step",
                    "... or grows faster than this"},
                   {"plateau check rec/ --baseline main.json --junit check.xml",
                    "compare with the main branch"}},
      .min_positional = 1,
      .run = RunCheck};
  return command;
}

}  // namespace plateau::cli

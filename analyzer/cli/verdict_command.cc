// `plateau verdict`: the classifier on series of one's own: test vectors, or a memory log.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/verdict/cases/case_file.h"
#include "analyzer/verdict/cases/case_json.h"
#include "analyzer/verdict/cases/log_words.h"

namespace plateau::cli {
namespace {

absl::StatusOr<verdict::Defaults> DefaultsFrom(const Arguments& arguments) {
  verdict::Defaults run;
  const auto positive = [&](const char* option, std::optional<double>* field) -> absl::Status {
    if (!arguments.Has(option)) return absl::OkStatus();
    PLATEAU_ASSIGN_OR_RETURN(const double value, arguments.Number(option, 0));
    if (!(value > 0)) return absl::InvalidArgumentError(absl::StrCat("--", option, " must be above 0"));
    *field = value;
    return absl::OkStatus();
  };
  PLATEAU_RETURN_IF_ERROR(positive("epoch-steps", &run.epoch_steps));
  PLATEAU_RETURN_IF_ERROR(positive("examples-per-step", &run.examples_per_step));
  PLATEAU_RETURN_IF_ERROR(positive("dataset-size", &run.dataset_examples));
  PLATEAU_RETURN_IF_ERROR(positive("planned-steps", &run.planned_steps));
  if (!run.epoch_steps && run.dataset_examples && run.examples_per_step) {
    run.epoch_steps = *run.dataset_examples / *run.examples_per_step;
  }
  if (arguments.Has("limit")) {
    PLATEAU_ASSIGN_OR_RETURN(const uint64_t limit, arguments.Bytes("limit", 0));
    run.limit_bytes = static_cast<double>(limit);
  }
  if (arguments.Has("eval-steps")) {
    series::EventTrack track{"eval", {}};
    for (absl::string_view text : absl::StrSplit(arguments.Value("eval-steps"), ',', absl::SkipEmpty())) {
      int64_t step = 0;
      if (!absl::SimpleAtoi(text, &step)) {
        return absl::InvalidArgumentError(absl::StrCat("--eval-steps: \"", text, "\" is not a step"));
      }
      track.steps.push_back(step);
    }
    run.events.push_back(std::move(track));
  }
  return run;
}

absl::StatusOr<verdict::LogOptions> LogOptionsFrom(const Arguments& arguments) {
  verdict::LogOptions options;
  options.column = arguments.Value("column");
  if (!arguments.Has("unit")) return options;
  options.unit_bytes = verdict::ParseUnit(arguments.Value("unit"));
  if (options.unit_bytes) return options;
  return absl::InvalidArgumentError(
      absl::StrCat("--unit: \"", arguments.Value("unit"), "\" is none of B, KiB, MiB, GiB"));
}

void PrintSummary(const verdict::Score& score) {
  for (const std::string& complaint : score.complaints) absl::PrintF("%s\n", complaint);
  absl::PrintF("%d cases, %d of %d verdicts as expected", score.cases, score.right, score.with_expectation);
  if (score.hard > 0) absl::PrintF(" (%d known to be hard)", score.hard);
  absl::PrintF(", %d false leaks, %d of %d numbers off by more than 10 %%", score.false_leaks,
               score.numbers_off, score.numbers_checked);
  if (score.arrays_off > 0) absl::PrintF(", %d arrays off", score.arrays_off);
  absl::PrintF("\n");
}

absl::StatusOr<int> RunVerdict(const Arguments& arguments) {
  PLATEAU_ASSIGN_OR_RETURN(const verdict::Defaults defaults, DefaultsFrom(arguments));
  PLATEAU_ASSIGN_OR_RETURN(const verdict::LogOptions log_options, LogOptionsFrom(arguments));
  const bool summary = arguments.Has("summary");
  verdict::Score score;
  for (const std::string& path : arguments.positional()) {
    PLATEAU_ASSIGN_OR_RETURN(const std::vector<std::string> files, verdict::FindCaseFiles(path));
    for (const std::string& file : files) {
      PLATEAU_ASSIGN_OR_RETURN(const std::vector<verdict::VerdictCase> cases,
                               verdict::ReadCaseFile(file, defaults, log_options));
      for (const verdict::VerdictCase& one : cases) {
        const verdict::CaseResult result = verdict::RunCase(one);
        score.Add(one, result);
        if (!summary) absl::PrintF("%s\n", verdict::ResultLine(one, result));
      }
    }
  }
  if (!summary) return kExitOk;
  PrintSummary(score);
  return score.ok() ? kExitOk : kExitCheckFailed;
}

}  // namespace

const Command& VerdictCommand() {
  static const Command command = {
      .name = "verdict",
      .usage = "FILE|DIRECTORY...",
      .summary = "Judge series of your own: test vectors, or a memory log.",
      .description =
          "Reads cases (JSON, docs/verdicts.md has the schema) or a memory log, and prints one line of JSON "
          "per "
          "case: the verdict, its numbers, and a sentence. A log is a CSV file with named columns in any "
          "order "
          "(also of psrecord, Weights & Biases or TensorBoard), lines such as \"Step 40: 10,375 MB\", or the "
          "output of mprof or of free -m in a loop. A name such as rss_mb gives the unit; without one it is "
          "bytes. A log without steps is judged by seconds or samples, which \"unit\" says. A directory "
          "stands "
          "for every .json and .csv file in it.\n\n"
          "A log alone cannot name who holds the memory, and a leak seen in it is unconfirmed; the sentence "
          "says what a "
          "trace would add.",
      .options =
          {{.name = "summary",
            .help =
                "Compare with the expected values in the files instead; exit code 1 when something is off."},
           {.name = "column",
            .value = "NAME",
            .help = "The column of a log that holds the memory.",
            .default_value = "found by its name"},
           {.name = "unit",
            .value = "UNIT",
            .help = "Unit of a column whose name says none: B, KiB, MiB or GiB.",
            .default_value = "B"},
           {.name = "epoch-steps",
            .value = "N",
            .help = "Steps per pass over the data, may be fractional.",
            .default_value = "what the file says, else unknown"},
           {.name = "examples-per-step",
            .value = "N",
            .help = "Examples per step, after gradient accumulation.",
            .default_value = "what the file says"},
           {.name = "dataset-size",
            .value = "N",
            .help = "Examples in the data set; with --examples-per-step it gives the epoch.",
            .default_value = "what the file says"},
           {.name = "eval-steps",
            .value = "LIST",
            .help = "Steps with an evaluation, separated by commas.",
            .default_value = "what the file says"},
           {.name = "limit",
            .value = "BYTES",
            .help = "Memory limit, e.g. 32GiB: adds when it is reached.",
            .default_value = "what the file says"},
           {.name = "planned-steps",
            .value = "N",
            .help = "Length of the whole run.",
            .default_value = "what the file says"}},
      .examples = {{"plateau verdict --epoch-steps 82.9 --limit 32GiB rss.csv",
                    "what an RSS log alone can say"},
                   {"plateau verdict train.log", "lines such as \"Step 40: 10,375 MB\""},
                   {"plateau verdict --summary vectors/", "test the classifier"}},
      .min_positional = 1,
      .run = RunVerdict};
  return command;
}

}  // namespace plateau::cli

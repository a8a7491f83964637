#include "analyzer/cli/table_options.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/input_file.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::cli {
namespace {

absl::Status SetNumber(const Arguments& arguments, const char* option, std::optional<double>& to) {
  if (!arguments.Has(option)) return absl::OkStatus();
  PLATEAU_ASSIGN_OR_RETURN(to, arguments.Number(option, 0));
  return absl::OkStatus();
}

absl::Status SetBytes(const Arguments& arguments, const char* option, std::optional<double>& to) {
  if (!arguments.Has(option)) return absl::OkStatus();
  PLATEAU_ASSIGN_OR_RETURN(const uint64_t bytes, arguments.Bytes(option, 0));
  to = static_cast<double>(bytes);
  return absl::OkStatus();
}

// The verdict as reports spell it: "Warmup-Complete" is warmup_complete. "" where none is asked for.
absl::StatusOr<std::string> ParseVerdictOption(const Arguments& arguments) {
  if (!arguments.Has("verdict")) return "";
  std::string asked = absl::AsciiStrToLower(arguments.Value("verdict"));
  std::replace(asked.begin(), asked.end(), '-', '_');
  if (verdict::ParseVerdict(asked)) return asked;
  std::vector<std::string> known;
  for (const verdict::VerdictRow& row : verdict::AllVerdicts()) known.emplace_back(row.name);
  return NotOneOf("verdict", arguments.Value("verdict"), known);
}

}  // namespace

std::vector<Option> TableOptionList(const char* top) {
  return {
      {.name = "sort",
       .value = "KEY",
       .help = "retained, growth, peak, temporary, count, tensors, allocations or name.",
       .default_value = "retained"},
      {.name = "group",
       .value = "KEY",
       .help = "Add up by site, file, function, module, thread, process, pool, phase or category.",
       .default_value = "site"},
      {.name = "top", .letter = 'n', .value = "N", .help = "Lines to show; 0 for all.", .default_value = top},
      {.name = "pool", .value = "NAME", .help = "Only this pool.", .default_value = "all"},
      {.name = "phase",
       .value = "NAME",
       .help = "Only sites whose bytes are mostly born in this phase.",
       .default_value = "all"},
      {.name = "verdict", .value = "NAME", .help = "Only sites with this verdict.", .default_value = "all"},
      {.name = "match",
       .value = "TEXT",
       .help = "Only sites with this in their name, file or function.",
       .default_value = "all"},
      {.name = "path",
       .value = "GLOB",
       .help = "Only sites whose file or module matches.",
       .default_value = "all"},
      {.name = "from-step",
       .value = "N",
       .help = "Count only what was born in this step or later.",
       .default_value = "all"},
      {.name = "to-step",
       .value = "N",
       .help = "Count only what was born in this step or earlier.",
       .default_value = "all"},
      {.name = "min-age",
       .value = "STEPS",
       .help = "Count only what is at least this old.",
       .default_value = "all"},
      {.name = "max-age",
       .value = "STEPS",
       .help = "Count only what is at most this old.",
       .default_value = "all"},
      {.name = "min-size",
       .value = "BYTES",
       .help = "Only sites whose objects are this large on average, or larger.",
       .default_value = "all"},
      {.name = "max-size",
       .value = "BYTES",
       .help = "Only sites whose objects are this large on average, or smaller.",
       .default_value = "all"},
      {.name = "suppressions",
       .value = "FILE",
       .help = "Known sites, in LeakSanitizer's syntax.",
       .default_value = "none"}};
}

absl::StatusOr<ParsedTable> ParseTableOptions(const Arguments& arguments, int64_t top) {
  ParsedTable out;
  PLATEAU_ASSIGN_OR_RETURN(const int64_t lines, arguments.Integer("top", top));
  out.table.top = static_cast<size_t>(lines);
  const std::string sort = arguments.Value("sort", "retained"), group = arguments.Value("group", "site");
  const auto sort_key = report::ParseSortKey(sort);
  if (!sort_key) {
    return NotOneOf("sort", sort,
                    {"retained", "growth", "peak", "temporary", "count", "tensors", "allocations", "name"});
  }
  const auto grouping = report::ParseGrouping(group);
  if (!grouping) {
    return NotOneOf("group", group,
                    {"site", "file", "function", "module", "thread", "process", "pool", "phase", "category"});
  }
  out.table.sort = *sort_key;
  out.table.group = *grouping;
  report::SiteFilter& filter = out.table.filter;
  filter.pool = arguments.Value("pool");
  filter.phase = arguments.Value("phase");
  PLATEAU_ASSIGN_OR_RETURN(filter.verdict, ParseVerdictOption(arguments));
  filter.text = arguments.Value("match");
  filter.path_glob = arguments.Value("path");
  PLATEAU_RETURN_IF_ERROR(SetNumber(arguments, "from-step", filter.from_step));
  PLATEAU_RETURN_IF_ERROR(SetNumber(arguments, "to-step", filter.to_step));
  PLATEAU_RETURN_IF_ERROR(SetNumber(arguments, "min-age", filter.min_age_steps));
  PLATEAU_RETURN_IF_ERROR(SetNumber(arguments, "max-age", filter.max_age_steps));
  PLATEAU_RETURN_IF_ERROR(SetBytes(arguments, "min-size", filter.min_object_bytes));
  PLATEAU_RETURN_IF_ERROR(SetBytes(arguments, "max-size", filter.max_object_bytes));
  if (arguments.Has("suppressions")) {
    const std::string path = arguments.Value("suppressions");
    PLATEAU_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
    absl::StatusOr<report::Suppressions> parsed = report::Suppressions::Parse(text);
    if (!parsed.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", parsed.status().message()));
    out.suppressions = std::make_unique<report::Suppressions>(*std::move(parsed));
    out.table.suppressions = out.suppressions.get();
  }
  return out;
}

}  // namespace plateau::cli

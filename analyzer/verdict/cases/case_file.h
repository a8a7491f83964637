// Reads cases from files: the JSON of test vectors, or a memory log such as people have (memory_log.h).
//
// JSON: {"schema": "plateau-verdict-vectors/1", "cases": [...]}, an array of cases, or one case;
// docs/verdicts.md lists the fields. An event vector ("plateau-event-vector/1") is replayed from the .jsonl
// beside it, one case per site. A missing file is a NotFoundError; whatever else is wrong is a DataLossError that names the file, the
// place and what was expected.
#ifndef PLATEAU_ANALYZER_VERDICT_CASES_CASE_FILE_H_
#define PLATEAU_ANALYZER_VERDICT_CASES_CASE_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/series/run_context.h"
#include "analyzer/verdict/cases/memory_log.h"
#include "analyzer/verdict/cases/verdict_case.h"

namespace plateau::verdict {

// What the user said on the command line: fills the fields a file leaves open.
using Defaults = series::RunContext;

// All cases of one file, by its extension (.json, else a log).
absl::StatusOr<std::vector<VerdictCase>> ReadCaseFile(const std::string& path, const Defaults& defaults,
                                                      const LogOptions& log_options = {});

// The .json and .csv files at `path`: itself, or everything below a directory, sorted by name.
absl::StatusOr<std::vector<std::string>> FindCaseFiles(const std::string& path);

// The parsers behind ReadCaseFile; `name` is for messages.
absl::StatusOr<std::vector<VerdictCase>> ParseJsonCases(std::string_view text, const std::string& name,
                                                        const Defaults& defaults);
// An event vector and the lines of its .jsonl: one case per site, whose arrays are compared with the expected
// ones.
absl::StatusOr<std::vector<VerdictCase>> ParseEventCases(std::string_view text, std::string_view event_lines,
                                                         const std::string& name, const Defaults& defaults);
// A log: one case per run in it.
absl::StatusOr<std::vector<VerdictCase>> ParseLogCases(std::string_view text, const std::string& name,
                                                       const Defaults& defaults,
                                                       const LogOptions& options = {});

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_CASES_CASE_FILE_H_

// A case for the classifier: the numbers it is given and, for a test vector, what it should say.
//
// Three tiers, by what is known: the arrays of one call site, a whole process with its sites, or one logged
// memory curve. Plain values; running a case is pure.
#ifndef PLATEAU_ANALYZER_VERDICT_CASES_VERDICT_CASE_H_
#define PLATEAU_ANALYZER_VERDICT_CASES_VERDICT_CASE_H_

#include <optional>
#include <string>
#include <vector>

#include "analyzer/series/process_series.h"
#include "analyzer/series/run_context.h"
#include "analyzer/series/site_series.h"
#include "analyzer/verdict/process_classifier.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

enum class CaseTier { kSite, kProcess, kCurve };

// What a vector expects. Empty fields are not checked.
struct Expectation {
  std::vector<VerdictKind> accept;
  std::optional<bool> leak;  // false: a leak verdict would be a false alarm
  bool hard = false;         // known to be missed by the method
  std::optional<double> rate_bytes_per_step;
  std::optional<double> plateau_bytes;
  std::optional<double> knee_step;
};

// How a memory log was read.
struct LogNote {
  std::string format;      // as in MemoryLog
  std::string column;      // of a table
  int lines_left_out = 0;  // that hold no memory size
};

struct VerdictCase {
  std::string id;
  std::string family;
  CaseTier tier = CaseTier::kSite;
  series::RunContext run;
  series::SiteSeries site;                // kSite
  std::vector<series::SiteSeries> sites;  // kProcess
  series::ProcessSeries process;          // kProcess
  series::MemoryCurve curve;              // kCurve
  std::optional<Expectation> expected;
  std::string unit = "step";   // what `curve.step` counts: "step", "second" or "sample"
  std::optional<LogNote> log;  // of a case that was read from a log
  bool arrays_match = true;    // of an event stream: accumulated as expected
};

struct CaseResult {
  Verdict verdict;
  std::optional<ProcessVerdict> process;
  std::vector<Verdict> sites;  // kProcess, in the order of the case
};

// Verdict with its sentence.
CaseResult RunCase(const VerdictCase& verdict_case);

// How results compare with what the cases expect.
struct Score {
  int cases = 0;
  int with_expectation = 0;
  int right = 0;
  int hard = 0;  // not counted as wrong
  int false_leaks = 0;
  int numbers_checked = 0;
  int numbers_off = 0;  // farther than 10 % from the reference
  int arrays_off = 0;
  std::vector<std::string> complaints;

  void Add(const VerdictCase& verdict_case, const CaseResult& result);
  bool ok() const {
    return right + hard == with_expectation && false_leaks == 0 && numbers_off == 0 && arrays_off == 0;
  }
};

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_CASES_VERDICT_CASE_H_

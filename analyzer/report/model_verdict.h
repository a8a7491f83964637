// What a report concludes: the verdict with its numbers, forecasts, hypotheses and patterns. Part of report_model.h.
//
// The names are those of docs/verdicts.md as text. A report is read back from its JSON, where a later version may
// have put a name that this one does not know.
#ifndef PLATEAU_ANALYZER_REPORT_MODEL_VERDICT_H_
#define PLATEAU_ANALYZER_REPORT_MODEL_VERDICT_H_

#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/interval.h"

namespace plateau::report {

// A number that supports a sentence: {"rate_bytes_per_step", 1.2e6}. Names carry their unit.
struct EvidenceNumber {
  std::string name;
  double value = 0;
};

// One possible future. Several when the mechanism is undecided: "if it is a leak", "if it is a first-pass
// fill".
struct Forecast {
  std::string label;
  std::string sentence;
  double from_step = 0;
  double from_bytes = 0;
  double rate_bytes_per_step = 0;
  std::optional<Interval> rate_interval;
  std::optional<double> plateau_bytes;
  std::optional<Interval> plateau_interval;
  std::optional<double> plateau_step;
  std::optional<Interval> plateau_step_interval;
  std::optional<double> limit_step;  // when the memory limit is reached
  std::optional<Interval> limit_step_interval;
};

struct Verdict {
  std::string name = "inconclusive";  // design vocabulary, lower snake case
  std::string reason;            // fixed reason of an inconclusive verdict: "first_pass", "too_short", ...
  std::string summary;           // who, what, how fast, until when: the headline, see builder/words/
  std::string site;              // of sites[], that made the verdict; empty when none did
  std::string sentence;          // plain words with the numbers filled in
  std::vector<std::string> why;  // what made it, one line each
  std::vector<EvidenceNumber> numbers;
  std::string outcome;  // "oom_either_way", "safe_in_this_run", ... or empty
  std::vector<Forecast> forecasts;
  std::optional<double> detectable_bytes_per_step;  // smallest leak this run could have shown
  std::optional<double> needs_steps;                // more steps that would decide it
  std::optional<double> limit_bytes;                // memory limit forecasts refer to
  std::string limit_source;                         // whose it is: "given", "cgroup", "machine"; or empty
  std::vector<std::string> held_by;                 // who keeps the bytes alive, one line each
  std::vector<std::string> next_steps;              // what to do now
};

struct TestedHypothesis {
  std::string name;    // "optimizer state"
  std::string result;  // "ruled out", "supported", "possible", "not tested"
  std::string evidence;
};

struct MatchedPattern {
  std::string id;  // "K11"
  std::string title;
  std::string explanation;
  std::string fix;
  std::string evidence;
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_MODEL_VERDICT_H_

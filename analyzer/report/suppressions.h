// Sites the user knows about and does not want to hear of, in LeakSanitizer's syntax:
//
//   # our tokenizer's interning table
//   leak:intern_table
//   leak:*/site-packages/tokenizers/*
//   leak:^std::vector
//
// A pattern is looked for anywhere in a function, file or module of the site or of its stack; '*' stands for
// any text, a leading '^' and a trailing '$' tie it to the ends. Suppressed bytes are not forgotten: reports
// add them up under [suppressed].
#ifndef PLATEAU_ANALYZER_REPORT_SUPPRESSIONS_H_
#define PLATEAU_ANALYZER_REPORT_SUPPRESSIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

// Whether `text` matches `pattern` of the syntax above.
bool MatchesPattern(absl::string_view pattern, absl::string_view text);

// Shell glob over a whole path: '*' any text, '?' one character. A pattern without '/' is also tried on the
// last component.
bool MatchesGlob(absl::string_view glob, absl::string_view path);

class Suppressions {
 public:
  // Lines of "leak:PATTERN"; empty lines and '#' comments are skipped. Other lines are an error that names
  // the line.
  static absl::StatusOr<Suppressions> Parse(absl::string_view text);

  bool empty() const { return patterns_.empty(); }
  const std::vector<std::string>& patterns() const { return patterns_; }

  // Index of the first pattern that matches the site or a frame of its stack, -1 for none.
  int Match(const ReportModel& model, const Site& site) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_SUPPRESSIONS_H_

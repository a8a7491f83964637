// A copy of a report without names: paths, functions, hosts, users and command lines become stand-ins, the
// same one each time.
//
// Kept: numbers, verdicts, and names everybody has (libc, libstdc++, Python, torch, CUDA, ... in system
// places). Replaced: every other path component, function, module and process, also inside sentences.
// Dropped: source lines, environment entries other than versions, arguments of commands, ids of processes
// stay as numbers from 1.
#ifndef PLATEAU_ANALYZER_REPORT_BUNDLE_ANONYMIZER_H_
#define PLATEAU_ANALYZER_REPORT_BUNDLE_ANONYMIZER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

class Anonymizer {
 public:
  // `secrets` are words that must not survive anywhere, such as the user's and the host's name. `own_words`
  // is text that every report has: a name that occurs in it (a folder "evaluation", a user "max") says
  // nothing about anybody outside a path.
  explicit Anonymizer(std::vector<std::string> secrets = {}, std::string own_words = "");

  ReportModel Anonymize(const ReportModel& model);

  // Stand-ins by what they stand for, in the order they were given: "path", "function", "module".
  const std::map<std::string, std::string>& names() const { return stand_ins_; }

  // Originals that still occur in `bytes`, other than as our own words or as part of the `kept_names` of
  // public libraries: empty when it is safe to share.
  std::vector<std::string> Leaks(absl::string_view bytes, absl::string_view kept_names) const;

 private:
  struct Replacement {
    std::string original, stand_in;
    bool is_own_word;
  };

  std::string StandIn(const std::string& kind, const std::string& original);
  std::string Path(const std::string& path);
  std::string Module(const std::string& module);
  std::string Function(const std::string& function, const std::string& file, const std::string& module);
  void LearnPaths(const std::string& text);
  std::string Sentence(const std::string& text) const;
  void AnonymizeFrames(ReportModel& model);
  void AnonymizeSites(ReportModel& model);
  void AnonymizeHolder(HolderPath* path);
  std::string HolderLinkStandIn(const HolderLink& link);
  void AnonymizeRecording(ReportModel& model);
  void AnonymizeProcesses(ReportModel& model);

  std::vector<std::string> secrets_;
  std::string own_words_;
  std::map<std::string, std::string> stand_ins_;  // original -> stand-in, per whole name
  std::map<std::string, int> counts_;             // per kind
  std::vector<Replacement> replacements_;         // longest first, for sentences
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUNDLE_ANONYMIZER_H_

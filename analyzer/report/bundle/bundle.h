// A bug report in one file: NAME.tar.zst that opens on any machine, with or without the traced program.
//
//   README.md          what to paste into an issue: the card, the environment, how to open the rest
//   card.txt           the card
//   report.json        the whole report with its stack tree, names already resolved; read when a bundle is opened
//   report.html        the page
//   trace/...          the traces themselves, unless left out
//
// The card, the report and the page come from their own rooms: the caller passes the functions that write them.
//
// An anonymized bundle holds no traces, because a trace is full of names, and is refused when a name is still
// found in it.
#ifndef PLATEAU_ANALYZER_REPORT_BUNDLE_BUNDLE_H_
#define PLATEAU_ANALYZER_REPORT_BUNDLE_BUNDLE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

// Each writes one file of the bundle. An anonymized bundle asks for a report without names as well.
struct BundleWriters {
  std::function<std::string(const ReportModel&)> card;
  std::function<std::string(const ReportModel&)> json;  // with the stack tree
  std::function<std::string(const ReportModel&)> page;
};

struct BundleOptions {
  bool anonymize = false;
  bool with_traces = true;
  std::vector<std::string> secrets;      // must not occur in an anonymized bundle: user, host, home
  std::vector<std::string> trace_paths;  // files to take along
};

struct Bundle {
  std::string archive;   // the bytes of the file
  std::string markdown;  // README.md, ready to paste
};

absl::StatusOr<Bundle> MakeBundle(const ReportModel& model, const BundleWriters& writers,
                                  const BundleOptions& options);

// The text of report.json in a bundle.
absl::StatusOr<std::string> JsonOfBundle(absl::string_view archive);

// Names of this user and machine: user, host, home directory.
std::vector<std::string> NamesOfThisMachine();

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUNDLE_BUNDLE_H_

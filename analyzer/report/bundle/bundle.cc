#include "analyzer/report/bundle/bundle.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/base/input_file.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/report/bundle/anonymizer.h"
#include "analyzer/report/bundle/tar_archive.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::report {
namespace {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return absl::DataLossError(absl::StrCat(path, ": reading failed"));
  return text.str();
}

std::string Markdown(const ReportModel& model, const std::string& card, const BundleOptions& options) {
  const RecordingInfo& r = model.recording;
  // A fence longer than any in the card.
  std::string out = absl::StrCat("### Plateau: ", verdict::VerdictTitle(model.verdict.name), "\n\n````text\n",
                                 card, "````\n\n");
  absl::StrAppend(&out, "| | |\n|---|---|\n| Plateau | ", model.tool_version, " |\n");
  absl::StrAppend(&out, "| mode | ", r.mode,
                  r.sample_bytes > 0          ? absl::StrCat(", sampled every ", FormatBytes(r.sample_bytes))
                  : r.python_sample_bytes > 0 ? absl::StrCat(", Python's small objects sampled every ",
                                                             FormatBytes(r.python_sample_bytes))
                                              : "",
                  r.sampled_from_seconds ? ", sampled later to keep the size limit" : "", " |\n| sources | ",
                  absl::StrJoin(r.sources, ", "), " |\n");
  for (const auto& [key, value] : r.environment)
    absl::StrAppend(&out, "| ", Printable(key), " | ", Printable(value), " |\n");
  absl::StrAppend(&out,
                  "\nThe attached bundle opens with `plateau report BUNDLE.tar.zst`, also without the "
                  "program; `report.html` in it opens in a browser.");
  if (options.anonymize)
    absl::StrAppend(&out, " Paths and names were replaced, the traces are not part of it.");
  return absl::StrCat(out, "\n");
}

std::vector<ArchiveFile> ReportFiles(const ReportModel& model, const BundleWriters& writers,
                                     const BundleOptions& options) {
  const std::string card = writers.card(model);
  return {{"README.md", Markdown(model, card, options)},
          {"card.txt", card},
          {"report.json", writers.json(model)},
          {"report.html", writers.page(model)}};
}

// What every report of this kind says: the files of one that holds only words that we chose.
std::string OwnWords(const ReportModel& model, const BundleWriters& writers, const BundleOptions& options) {
  ReportModel words;
  words.verdict.name = model.verdict.name;
  words.steps.source = model.steps.source;
  words.recording.mode = model.recording.mode;
  words.recording.python_sample_bytes = model.recording.python_sample_bytes;
  words.recording.sampled_from_seconds = model.recording.sampled_from_seconds;
  words.recording.sources = model.recording.sources;
  for (const TestedHypothesis& h : model.hypotheses)
    words.hypotheses.push_back({.name = h.name, .result = h.result});
  for (const MatchedPattern& p : model.patterns)
    words.patterns.push_back({.id = p.id, .title = p.title, .explanation = p.explanation, .fix = p.fix});
  for (const PoolSummary& p : model.pools) words.pools.push_back({.name = p.name});
  for (const BreakdownItem& b : model.breakdown) words.breakdown.push_back({.name = b.name});
  for (const Phase& p : model.phases) words.phases.push_back({.kind = p.kind});
  for (const Site& site : model.sites) {
    Site& kept = words.sites.emplace_back();
    kept.pool = site.pool;
    kept.phase = site.phase;
    kept.category = site.category;
    kept.verdict = site.verdict;
    for (const HolderPath& path : site.held_by) {
      HolderPath& kinds = kept.held_by.emplace_back();
      for (const HolderLink& link : path.links) kinds.links.push_back({.kind = link.kind});
    }
  }
  std::string text;
  for (const ArchiveFile& file : ReportFiles(words, writers, options))
    absl::StrAppend(&text, file.content, "\n");
  return text;
}

// Names that were left because everybody has them.
std::string KeptNames(const ReportModel& original, const ReportModel& model) {
  std::string text;
  auto add_kept = [&text](const auto& before, const auto& after) {
    if (before.function == after.function) absl::StrAppend(&text, after.function, "\n");
    if (before.file == after.file) absl::StrAppend(&text, after.file, "\n");
    if (before.module == after.module) absl::StrAppend(&text, after.module, "\n");
  };
  for (size_t i = 0; i < model.frames.size(); ++i) add_kept(original.frames[i], model.frames[i]);
  for (size_t i = 0; i < model.sites.size(); ++i) add_kept(original.sites[i], model.sites[i]);
  return text;
}

}  // namespace

absl::StatusOr<Bundle> MakeBundle(const ReportModel& original, const BundleWriters& writers,
                                  const BundleOptions& options) {
  Anonymizer anonymizer(options.secrets, options.anonymize ? OwnWords(original, writers, options) : "");
  const ReportModel model = options.anonymize ? anonymizer.Anonymize(original) : original;
  std::vector<ArchiveFile> files = ReportFiles(model, writers, options);
  Bundle bundle;
  bundle.markdown = files[0].content;
  if (options.anonymize) {
    const std::string kept_names = KeptNames(original, model);
    for (const ArchiveFile& file : files) {
      const std::vector<std::string> leaks = anonymizer.Leaks(file.content, kept_names);
      if (!leaks.empty()) {
        return absl::FailedPreconditionError(
            absl::StrCat(file.name, " would still hold \"", leaks[0], "\"; no bundle was written"));
      }
    }
  } else if (options.with_traces) {
    for (const std::string& path : options.trace_paths) {
      PLATEAU_ASSIGN_OR_RETURN(std::string content, ReadFile(path));
      const std::string name = path.substr(path.rfind('/') + 1);
      files.push_back({absl::StrCat("trace/", name.substr(0, 80)), std::move(content)});
    }
  }
  PLATEAU_ASSIGN_OR_RETURN(bundle.archive, PackArchive(files));
  return bundle;
}

absl::StatusOr<std::string> JsonOfBundle(absl::string_view archive) {
  PLATEAU_ASSIGN_OR_RETURN(std::vector<ArchiveFile> files, UnpackArchive(archive));
  for (ArchiveFile& file : files) {
    if (file.name == "report.json") return std::move(file.content);
  }
  return absl::InvalidArgumentError("the archive holds no report.json; it is no bundle of Plateau");
}

namespace {

// The user's name as /etc/passwd has it. getpwuid() would load libraries, which a statically linked program cannot.
std::string NameOfUser(uid_t uid) {
  constexpr uint64_t kMaxBytes = 16 << 20;
  const auto users = ReadWholeFile("/etc/passwd", kMaxBytes);
  if (!users.ok()) return "";
  for (const absl::string_view line : absl::StrSplit(*users, '\n')) {
    const std::vector<std::string> fields = absl::StrSplit(line, ':');
    if (fields.size() > 2 && fields[2] == absl::StrCat(uid)) return fields[0];
  }
  return "";
}

}  // namespace

std::vector<std::string> NamesOfThisMachine() {
  std::vector<std::string> names;
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) == 0) names.emplace_back(host);
  if (const char* home = std::getenv("HOME"); home != nullptr) names.emplace_back(home);
  for (const char* variable : {"USER", "LOGNAME"}) {
    if (const char* user = std::getenv(variable); user != nullptr) names.emplace_back(user);
  }
  if (std::string user = NameOfUser(getuid()); !user.empty()) names.push_back(std::move(user));
  // Names that are words of every report say nothing about anybody.
  std::erase_if(names, [](const std::string& name) {
    return name == "root" || name == "/root" || name == "localhost" || name.size() < 3;
  });
  return names;
}

}  // namespace plateau::report

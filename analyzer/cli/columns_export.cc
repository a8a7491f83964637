#include "analyzer/cli/columns_export.h"

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/base/output_file.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/load_report.h"
#include "analyzer/report/builder/rank_reports.h"
#include "analyzer/report/columns/job_tables.h"
#include "analyzer/report/columns/parquet_file.h"

namespace plateau::cli {
namespace {

namespace fs = std::filesystem;

// A value of a partition: what would leave its folder, or mean something to a reader of partitions, becomes _.
std::string FolderValue(std::string text) {
  for (char& c : text) {
    const bool is_fine =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' || c == '+';
    if (!is_fine) c = '_';
  }
  if (text.empty()) return "unknown";
  return text.substr(0, 120);
}

// "rec" of "/data/rec/".
std::string NameOf(const std::string& path) {
  std::string name = fs::path(path).lexically_normal().filename();
  if (name.empty()) name = fs::path(path).lexically_normal().parent_path().filename();
  return name;
}

absl::Status WriteNode(const report::RecordingReport& part, const std::string& job, const std::string& node,
                       const std::string& directory) {
  const std::vector<std::pair<std::string, std::string>> metadata = {
      {"plateau.schema", report::kColumnsSchema}};
  const std::string key = report::RecordingKey(part);
  const std::vector<report::Table> tables = report::TablesOf(part);
  // The row of the recording comes last: where it is, the other tables are complete.
  for (auto table = tables.rbegin(); table != tables.rend(); ++table) {
    const std::string folder =
        absl::StrCat(directory, "/", table->name(), "/job=", FolderValue(job), "/node=", FolderValue(node));
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return absl::ErrnoToStatus(error.value(), folder);
    PLATEAU_ASSIGN_OR_RETURN(const std::string bytes, report::ParquetOf(*table, metadata));
    PLATEAU_RETURN_IF_ERROR(WriteWholeFile(absl::StrCat(folder, "/", key, ".parquet"), bytes));
  }
  return absl::OkStatus();
}

absl::Status WriteRecording(report::RecordingReport recording, const std::string& given_job,
                            const std::string& directory) {
  // Hosts that wrote into one directory are nodes of their own.
  std::map<std::pair<std::string, std::string>, std::vector<report::RankReport>> parts;
  for (report::RankReport& rank : recording.ranks) {
    const std::string job = !given_job.empty()  ? given_job
                            : !rank.job.empty() ? rank.job
                                                : NameOf(recording.path);
    parts[{job, rank.host}].push_back(std::move(rank));
  }
  if (parts.empty()) parts[{given_job.empty() ? NameOf(recording.path) : given_job, ""}] = {};
  recording.ranks.clear();
  for (auto& [place, ranks] : parts) {
    report::RecordingReport part = recording;
    part.ranks = std::move(ranks);
    PLATEAU_RETURN_IF_ERROR(WriteNode(part, place.first, place.second, directory));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> ExportColumns(const Arguments& arguments) {
  const std::string directory = arguments.Value("output", "-");
  if (directory == "-")
    return absl::InvalidArgumentError("--format=parquet: tables need a folder, pass -o DIR");
  PLATEAU_ASSIGN_OR_RETURN(report::BuildOptions options, ParseAnalysisOptions(arguments));
  options.with_stacks = false;
  options.named_sites = 200;
  for (const std::string& path : arguments.positional()) {
    std::error_code error;
    const std::string absolute = fs::absolute(path, error).lexically_normal().string();
    report::RecordingReport recording;
    if (arguments.Has("failed")) {
      recording.path = absolute;
      recording.soundness = report::Soundness::kUnreadable;
      recording.reason = arguments.Value("failed");
    } else {
      recording = report::BuildRankReports(absolute, options, /*threads=*/0);
    }
    PLATEAU_RETURN_IF_ERROR(WriteRecording(std::move(recording), arguments.Value("job"), directory));
  }
  absl::FPrintF(stderr, "wrote %s\n", directory);
  return kExitOk;
}

}  // namespace plateau::cli

// `plateau fleet`: one verdict for a job of many ranks. Tables are reduced with SQL by the Python package, because that is where
// engines are: DuckDB on one machine, Spark on a cluster. This file finds a Python and hands the options on.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/launch/launch.h"
#include "analyzer/cli/launch/target.h"

namespace plateau::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPassedOn[] = {"json", "html", "columns", "job", "jobs", "top", "rule", "rules"};

// The folder above the Python package: beside the shim in an installed tree, in site-packages when pip installed a wheel.
std::string PackageFolder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const std::string of_tree = FindLibrary("plateau/python");
  for (const fs::path& folder : {fs::path(of_tree), self.parent_path() / "../../.."}) {
    if (!folder.empty() && fs::exists(folder / "plateau_trace/fleet/__main__.py", error))
      return fs::weakly_canonical(folder, error).string();
  }
  return "";
}

// What PLATEAU_FLEET_PYTHON says, else the interpreter of the environment that pip installed into, else python3.
std::string Python(const std::string& package_folder) {
  if (const char* chosen = std::getenv("PLATEAU_FLEET_PYTHON"); chosen != nullptr && *chosen != '\0')
    return chosen;
  if (absl::EndsWith(package_folder, "-packages")) {  // PREFIX/lib/python3.x/site-packages
    std::string of_prefix =
        fs::path(package_folder).parent_path().parent_path().parent_path() / "bin/python3";
    if (access(of_prefix.c_str(), X_OK) == 0) return of_prefix;
  }
  return FindProgram("python3");
}

absl::StatusOr<int> RunFleet(const Arguments& arguments) {
  const std::string folder = PackageFolder();
  if (folder.empty())
    return absl::InternalError("plateau fleet: the Python package is not beside this program; install it");
  const std::string python = Python(folder);
  if (python.empty()) {
    return absl::NotFoundError(
        "plateau fleet: no python3 in PATH; it reduces the tables with DuckDB (PLATEAU_FLEET_PYTHON names "
        "another one)");
  }
  std::vector<std::string> words = {python, "-m", "plateau_trace.fleet"};
  for (const char* option : kPassedOn) {
    for (const std::string& value : arguments.Values(option))
      words.push_back(absl::StrCat("--", option, "=", value));
  }
  words.emplace_back("--");
  words.insert(words.end(), arguments.positional().begin(), arguments.positional().end());
  const char* before = std::getenv("PYTHONPATH");
  const std::string path = before != nullptr && *before != '\0' ? absl::StrCat(folder, ":", before) : folder;
  std::error_code error;
  setenv("PYTHONPATH", path.c_str(), 1);
  setenv("PLATEAU_BIN", fs::read_symlink("/proc/self/exe", error).c_str(), 1);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return absl::ErrnoToStatus(errno, python);
}

}  // namespace

const Command& FleetCommand() {
  static const Command command = {
      .name = "fleet",
      .usage = "DIR|GLOB...",
      .summary = "Say which ranks of a job differ, and which one ends it.",
      .description =
          "Finds recordings below the folders, turns each into tables (`plateau export -f parquet`), several "
          "at a time, "
          "and reduces them with SQL: how many ranks have which verdict, the ranks and hosts that stand out, "
          "the first rank "
          "to reach its limit, the sites over all ranks, and what grows more than in the job before. A "
          "folder of tables is "
          "reduced as it is. Recordings that are damaged, still running, empty or of a newer version are "
          "rows with a "
          "reason.\n\nNeeds Python 3.8 with DuckDB: pip install \"plateau-trace[fleet]\". docs/fleet.md has "
          "the tables and the "
          "drivers for Ray and Spark.",
      .options =
          {{.name = "json",
            .value = "FILE",
            .help = "Write all of it as JSON; `-` is standard output.",
            .default_value = "no JSON"},
           {.name = "html", .value = "FILE", .help = "Write one page.", .default_value = "no page"},
           {.name = "columns",
            .value = "DIR",
            .help = "Keep the tables there.",
            .default_value = "a temporary folder"},
           {.name = "job",
            .value = "NAME",
            .help = "The job that all recordings are of.",
            .default_value = "what each recording says, else its name"},
           {.name = "jobs",
            .value = "N",
            .help = "How many recordings are read at a time.",
            .default_value = "one per processor"},
           {.name = "top", .value = "N", .help = "Rows of each table in the text.", .default_value = "8"},
           {.name = "rule",
            .value = "RULE",
            .help =
                "Exit with 1 when a job breaks it: `fail-on leak`, `max-odd-ranks 0`, `max-share leak 1%`, "
                "`min-ranks 512`, `max-growth 1MiB/step`, `min-steps-left 10000`.",
            .default_value = "no rule",
            .repeated = true},
           {.name = "rules",
            .value = "FILE",
            .help = "A file with a rule on each line.",
            .default_value = "no file"}},
      .examples = {{"plateau fleet recordings/", "the verdict of every job below a folder"},
                   {"plateau fleet 'rec-*' --html job.html --rule 'fail-on leak'",
                    "a page, and an exit code for CI"},
                   {"plateau fleet columns/", "tables that were written on the nodes"}},
      .min_positional = 1,
      .run = RunFleet};
  return command;
}

}  // namespace plateau::cli

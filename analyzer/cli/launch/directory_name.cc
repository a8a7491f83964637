#include "analyzer/cli/launch/directory_name.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace plateau::cli {
namespace {

// As in preload/ledger/job_identity.cc, which expands the name in processes without a launcher.
std::string FirstOf(std::initializer_list<const char*> variables, const char* otherwise) {
  for (const char* variable : variables) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != 0) return value;
  }
  return otherwise;
}

std::string Host() {
  utsname system;
  return uname(&system) == 0 ? system.nodename : "";
}

std::string Name(std::string text) {
  const bool is_dots = text.find_first_not_of('.') == std::string::npos;
  for (char& c : text) {
    const bool is_fine =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' || c == '+';
    if (!is_fine || is_dots) c = '_';
  }
  return text;
}

}  // namespace

std::string ExpandDirectoryName(const std::string& pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char sign = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (sign == 'h') {
      out += Name(Host());
    } else if (sign == 'r') {
      out += Name(
          FirstOf({"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"},
                  "no-rank"));
    } else if (sign == 'j') {
      out += Name(FirstOf({"PLATEAU_JOB", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "RAY_JOB_ID",
                           "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE"},
                          "no-job"));
    } else if (sign == 'p') {
      absl::StrAppend(&out, getpid());
    } else if (sign == '%') {
      out += '%';
    } else {
      out += pattern[i];
      continue;
    }
    ++i;
  }
  return out;
}

std::string DirectoryPattern(const std::string& directory) {
  return absl::StrReplaceAll(directory, {{"%", "%%"}});
}

}  // namespace plateau::cli

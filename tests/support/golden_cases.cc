#include "tests/support/golden_cases.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/trace_text.h"

namespace plateau::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".trace.txt";

// The names before the suffix of all traces in the folder, sorted: "leak", "worker_duplication.worker1".
std::vector<std::string> TraceNames(std::string_view folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(kSuffix)) names.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string WriteTrace(std::string_view folder, const std::string& name) {
  std::ifstream file(fs::path(folder) / (name + std::string(kSuffix)), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return WriteTemporary(name + ".plt", TraceFromText(text.str()));
}

}  // namespace

std::vector<std::string> GoldenCases(std::string_view folder) {
  std::vector<std::string> names = TraceNames(folder);
  std::erase_if(names, [](const std::string& name) { return name.find('.') != std::string::npos; });
  return names;
}

std::vector<std::string> WriteGoldenTraces(std::string_view folder, std::string_view name) {
  std::vector<std::string> paths;
  for (const std::string& trace : TraceNames(folder)) {
    if (trace == name || trace.starts_with(std::string(name) + "."))
      paths.push_back(WriteTrace(folder, trace));
  }
  return paths;
}

}  // namespace plateau::testing

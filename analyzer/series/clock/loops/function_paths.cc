#include "analyzer/series/clock/loops/function_paths.h"

#include <string>
#include <string_view>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"

namespace plateau::series {
namespace {

bool IsImportMachinery(const std::string& file) {
  return absl::StartsWith(file, "<frozen importlib") || absl::EndsWith(file, "importlib/_bootstrap.py") ||
         absl::EndsWith(file, "importlib/_bootstrap_external.py");
}

}  // namespace

bool IsScheduleFile(std::string_view file) {
  for (const char* part :
       {"/asyncio/", "/uvloop/", "/tornado/", "/ipykernel/", "/IPython/", "/zmq/", "/nbclient/"}) {
    const size_t at = file.find(part);
    const bool is_installed = at != std::string::npos &&
                              (file.find("/lib/python3") < at + 1 || file.find("/site-packages/") < at + 1 ||
                               file.find("/dist-packages/") < at + 1);
    if (is_installed) return true;
  }
  return false;
}

FunctionPaths::FunctionPaths(const replay::Definitions* definitions)
    : definitions_(*definitions),
      first_code_(definitions->codes.size()),
      is_import_(definitions->codes.size()),
      is_schedule_(definitions->codes.size()),
      path_of_node_(definitions->nodes.size() + 1),
      paths_(1) {
  using Content = std::tuple<std::string_view, std::string_view, uint32_t, std::string_view>;
  absl::flat_hash_map<Content, uint32_t> first;
  for (uint32_t id = 0; id < first_code_.size(); ++id) {
    const replay::CodeObject& code = definitions->codes[id];
    first_code_[id] =
        first.try_emplace({code.file, code.name, code.first_line, code.line_table}, id).first->second;
    is_import_[id] = IsImportMachinery(code.file);
    is_schedule_[id] = IsScheduleFile(code.file);
  }
  path_of_node_[0] = 1;
}

uint32_t FunctionPaths::ChildOf(uint32_t path, uint32_t location) {
  if (location >= definitions_.locations.size()) return path;
  const replay::Location& where = definitions_.locations[location];
  if (where.kind != replay::Location::Kind::kPython || where.owner >= first_code_.size()) return path;
  const uint32_t code = first_code_[where.owner];
  const auto [it, is_new] =
      children_.try_emplace(uint64_t{path} << 32 | code, static_cast<uint32_t>(paths_.size()));
  if (is_new) {
    const FunctionPath& parent = paths_[path];
    paths_.push_back({path, code, parent.depth + 1, parent.is_import || is_import_[code]});
  }
  return it->second;
}

uint32_t FunctionPaths::FindPath(uint32_t node) {
  walk_.clear();
  for (; path_of_node_[node] == 0; node = definitions_.nodes[node].parent) walk_.push_back(node);
  uint32_t path = path_of_node_[node] - 1;
  for (auto it = walk_.rbegin(); it != walk_.rend(); ++it) {
    path = ChildOf(path, definitions_.nodes[*it].location);
    path_of_node_[*it] = path + 1;
  }
  return path;
}

}  // namespace plateau::series

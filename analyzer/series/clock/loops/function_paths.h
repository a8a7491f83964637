// The Python functions on each stack, from the root down and without the places in them.
//
//   stack   <module>:40 > main:12 > step:3 > native frames        path   <module> > main > step
//
// Two stacks with the same path are the same work at different places. A path remembers whether one of its
// functions is the import machinery's: what an import allocates belongs to no loop.
//
// Paths are numbered from 1 in the order in which they are asked for; parents before their children; 0 is a
// stack without a Python function. Memory: 4 bytes a stack node, 16 a path. Not thread-safe.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_FUNCTION_PATHS_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_FUNCTION_PATHS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/base/zeroed_array.h"
#include "analyzer/replay/definitions/definitions.h"

namespace plateau::series {

// Whether a file is of an event loop or the kernel of a notebook: it runs what it is given, and its own rounds say
// nothing.
bool IsScheduleFile(std::string_view file);

struct FunctionPath {
  uint32_t parent = 0;
  uint32_t code = 0;  // of several code objects with the same content, the first
  uint32_t depth = 0;
  bool is_import = false;
};

class FunctionPaths {
 public:
  // The definitions must outlive this object, with their stacks merged.
  explicit FunctionPaths(const replay::Definitions* definitions);

  // Of a canonical node.
  uint32_t PathOf(uint32_t node) {
    const uint32_t known = path_of_node_[node];
    return known != 0 ? known - 1 : FindPath(node);
  }
  const FunctionPath& operator[](uint32_t path) const { return paths_[path]; }
  size_t size() const { return paths_.size(); }
  // Of several code objects with the same content, the first; and whether it is the import machinery's.
  uint32_t FirstCode(uint32_t code) const { return first_code_[code]; }
  bool IsImport(uint32_t code) const { return is_import_[code]; }
  bool IsSchedule(uint32_t code) const { return is_schedule_[code]; }

 private:
  uint32_t FindPath(uint32_t node);
  uint32_t ChildOf(uint32_t path, uint32_t location);

  const replay::Definitions& definitions_;
  std::vector<uint32_t> first_code_;    // by code id: the first with that content
  std::vector<bool> is_import_;         // by code id
  std::vector<bool> is_schedule_;       // by code id
  ZeroedArray<uint32_t> path_of_node_;  // plus 1
  std::vector<FunctionPath> paths_;
  absl::flat_hash_map<uint64_t, uint32_t> children_;  // by parent and code
  std::vector<uint32_t> walk_;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_FUNCTION_PATHS_H_

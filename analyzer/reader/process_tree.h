// Which traces of a recording are of processes that others started, directly or not.
//
//   train.py --spawn--> worker                       ParentOf(worker) is train.py
//   train.py --> forkserver --fork--> worker         ParentOf(worker) is the server, its parent is train.py
#ifndef PLATEAU_ANALYZER_READER_PROCESS_TREE_H_
#define PLATEAU_ANALYZER_READER_PROCESS_TREE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "analyzer/reader/recording.h"

namespace plateau::reader {

class ProcessTree {
 public:
  explicit ProcessTree(const Recording& recording);

  // By place in recording.traces. A parent began before its child; of several with its pid, one after the other
  // or by exec, the one that began last.
  std::optional<size_t> ParentOf(size_t trace) const { return parents_[trace]; }
  bool HasChildren(size_t trace) const { return has_children_[trace]; }

 private:
  std::vector<std::optional<size_t>> parents_;
  std::vector<bool> has_children_;
};

}  // namespace plateau::reader

#endif  // PLATEAU_ANALYZER_READER_PROCESS_TREE_H_
